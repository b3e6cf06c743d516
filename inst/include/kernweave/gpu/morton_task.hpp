// Arguments of the kernels of the Morton order of points (morton.hpp). The host's compiler and the device's read the
// same text.
#pragma once
#include "../lane.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

inline constexpr int kMortonThreads = 256;
inline constexpr int kMortonEach = 16;       // items of a thread of a block that sorts
inline constexpr int kMortonTile = kMortonThreads * kMortonEach;
inline constexpr int kMortonBits = 8;        // of a key, that are sorted by at once
inline constexpr int kMortonDigits = 1 << kMortonBits;
static_assert(kMortonDigits == kMortonThreads, "a thread has a digit");
inline constexpr int kMortonScan = 1024;     // threads of the one block that adds up counts

struct MortonTask {
  // Points, component by component, and the cube they are in, whose sides are halved so often.
  int points, halvings;
  const double* numbers;
  double least[3], width;
  // Keys and the points' numbers, from the one to the other; of each digit, how many each tile has.
  const unsigned long long* keys;
  const int* order;
  unsigned long long* keys_to;
  int* order_to;
  int* counts;
  int tiles, shift;
  double* components;  // in order, one after the other
  // Boxes by their first point and the one behind their last; where the points of each of their parts end.
  const long long* boxes;
  int box_count, behind;  // bits of a key behind those that tell the part
  int* ends;
};

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
