// The cut of a pass into windows, blocks and launches, and the memory that a pass takes on a device.
#pragma once
#include <cstdint>
#include <vector>
#include "base/view.hpp"
#include "cuda/pass.hpp"

namespace kernweave {
namespace cuda {

// Blocks of rows times splits of the sweep axis. The cut depends on the sizes, the device model and the code alone, and
// so do the bits of the results.
struct SweepCut {
  std::int64_t blocks;     // blocks of rows
  std::int64_t splits;     // splits of the sweep axis
  std::int64_t split;      // points of a split
  std::int64_t group;      // splits whose states are merged first, before the states of groups; 1 if splits are few
  std::int64_t of_launch;  // blocks times splits of one launch; the user may interrupt between launches

  std::int64_t together() const { return split * group; }  // points that no window may divide
};

// The number of blocks that a device runs at the same time.
struct AtOnce {
  int processors;
  int blocks;  // for each multiprocessor
};

// `seconds`: the estimated time of all pairs. `told`: the points of a split by the decision; 0: chosen for the device.
SweepCut cut(const Pass& pass, std::int64_t lanes, std::int64_t sweep, const AtOnce& at_once, double seconds,
        std::int64_t told = 0);

inline std::int64_t ceiling(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// --- memory needs --------------------------------------------------------------------------------------------------
// The memory that a pass takes on a device.

// The bytes that a pass needs:
struct Needs {
  double lane = 0;   // for each point of the lane axis,
  double sweep = 0;  // for each of the sweep axis,
  double pair = 0;   // for each pair of both,
  double state = 0;  // for the states of a block of rows and a split, until they are merged,
  double fixed = 0;  // and in any case

  // Returns the bytes for `lanes` and `sweep` points, without states.
  double all(std::int64_t lanes, std::int64_t sweep) const;
  // Returns the needs of `runs` runs at once.
  Needs times(double runs) const { return {lane * runs, sweep * runs, pair * runs, state * runs, fixed * runs}; }
};

// Returns the needs of a pass without its data and results.
Needs needs_of(const Pass& pass);

// Returns the bytes of the data and numbers of one point of the sweep axis.
double bytes_of_column(const Pass& pass);

// Returns the bytes of a state in float64 with its storage, as the kernels of a pass hold it.
std::int64_t state_bytes(const Pass& pass, const Output& o);

// --- window --------------------------------------------------------------------------------------------------------
// A window is the part of both axes that lies on a device at a time: all points, unless memory is short.

// Cuts a range into pieces of `size` points. An empty range gives one empty piece.
std::vector<Range> pieces(const Range& all, std::int64_t size);

struct Windows {
  std::int64_t lanes, sweep;  // points of a window, whole blocks and whole groups of splits; the last may have fewer
  std::int64_t chunk;         // blocks whose states are in memory at the same time
  bool whole;                 // has one window all points?
};

// Returns the largest windows that fit. Their size changes no result: states are merged in the same order. Fails with
// Fault::memory if one block and one group do not fit.
Windows fitting(const Needs& needs, const Pass& pass, const SweepCut& cut, const Range& lanes, std::int64_t sweep,
                double budget);

}  // namespace cuda
}  // namespace kernweave
