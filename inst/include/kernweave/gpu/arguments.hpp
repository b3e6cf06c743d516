// What the host hands to the kernels of a pass. The host and the device compiler read the same text.
#pragma once
#include "../row_numbers.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// How pairs are shared out where tensor cores find an inner product for each (gpu/product.hpp). A block has `kSide` rows and
// passes as many columns at a time, in steps of `kDepth` components; its eight warps take 32 rows times 64 columns each. Of a
// warp's tile a thread has four rows, and two columns of each eight.
struct ProductShape {
  static constexpr int kSide = 128, kThreads = 256, kDepth = 16, kStages = 4;
  static constexpr int kRows = 4, kRowStride = 8, kColumns = 2;
  static constexpr int kChunks = 512;  // of 16 bytes: one side's halves for one step
  static constexpr int kParts = 8;     // threads whose sums belong to the same row: four of each of two warps
  static constexpr int kSharedBytes = kStages * 2 * kChunks * 16;
};

// Pointers are to memory of the device. `once`, `columns` and `rows` hold numbers of the pass's own lane.
struct Head {
  long long lanes, sweep;            // points along the axis of the lanes, and along the one that is folded
  long long split;                   // points of the folded axis that one block takes
  long long first_block, first_split;  // of a launch
  long long blocks, splits;            // in all; a launch may have fewer
  long long first_row, rows_here;      // the rows whose states wait to be merged
  const double* numbers;             // of the program
  void* once;                        // what is the same for all pairs
  void* columns;                     // what depends on the folded axis alone, point by point
  void* rows;                        // what depends on the lanes alone, component by component: where it is wide
  void* row_halves;                  // the numbers of inner products, and what undoes their scale
  void* column_halves;
  float* row_scales;
  float* column_scales;
};

// The data of a variable, by columns, and what is to be taken off each of them, if anything.
struct Data {
  const double* at;
  const double* centre;
  long long rows;
};

// Where an output goes; where its states wait for those of other blocks.
struct Target {
  double* values;
  RowNumbers numbers;
  void* states;
};

template <int kVariables, int kOutputs>
struct Arguments {
  Head head;
  Data data[kVariables];
  Target targets[kOutputs];
};

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
