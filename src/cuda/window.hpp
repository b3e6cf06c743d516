// Window: the part of both axes that lies on a device at a time; all of it, unless memory is short.
#pragma once
#include <vector>

#include "base/range.hpp"
#include "cuda/cut.hpp"
#include "cuda/memory_needs.hpp"

namespace kernweave {
namespace cuda {

// Cuts a range into pieces of so many points; an empty one into one.
std::vector<Range> pieces(const Range& all, std::int64_t size);

struct Windows {
  std::int64_t lanes, sweep;  // points of a window, whole blocks and whole groups of splits; the last may have fewer
  std::int64_t chunk;         // blocks whose states wait at the same time
  bool whole;                 // is everything there at once?
};

// The largest windows that fit. Their size changes no result: states are merged in the same order. Fails with
// Fault::memory where not even one block and one group have room.
Windows fitting(const Needs& needs, const Pass& pass, const SweepCut& cut, const Range& lanes, std::int64_t sweep,
                double budget);

}  // namespace cuda
}  // namespace kernweave
