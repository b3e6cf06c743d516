// Cut: how the pairs of a pass become blocks, and blocks launches.
#pragma once
#include <cstdint>
#include "cuda/pass.hpp"

namespace kernweave {
namespace cuda {

// Blocks of rows, times splits of the sweep axis. Depends on the sizes, the device model and the code alone, and so do
// the bits of the results.
struct SweepCut {
  std::int64_t blocks;     // of rows
  std::int64_t splits;     // of the sweep axis
  std::int64_t split;      // points of a split
  std::int64_t group;      // splits whose states are merged before those of groups are; 1 where splits are few
  std::int64_t of_launch;  // blocks times splits of one launch: leaves time to ask for an interrupt in between

  std::int64_t together() const { return split * group; }  // points that no window divides
};

// Blocks that a device works on at the same time.
struct AtOnce {
  int processors;
  int blocks;  // for each multiprocessor
};

// `seconds`: what all pairs are expected to take. `told`: points of a split, as decided; 0: as many as suit the device.
SweepCut cut(const Pass& pass, std::int64_t lanes, std::int64_t sweep, const AtOnce& at_once, double seconds,
        std::int64_t told = 0);

inline std::int64_t ceiling(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace cuda
}  // namespace kernweave
