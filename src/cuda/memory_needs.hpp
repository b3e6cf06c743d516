// Memory that a pass takes of a device.
#pragma once
#include "cuda/pass.hpp"

namespace kernweave {
namespace cuda {

// Bytes:
struct Needs {
  double lane = 0;   // for each point of the lane axis,
  double sweep = 0;  // for each of the sweep axis,
  double pair = 0;   // for each pair of both,
  double state = 0;  // for the states of a block of rows and a split, while they wait,
  double fixed = 0;  // and at any rate

  // Returns the bytes for `lanes` and `sweep` points, without states.
  double all(std::int64_t lanes, std::int64_t sweep) const;
  // Returns the needs of `runs` runs at once.
  Needs times(double runs) const { return {lane * runs, sweep * runs, pair * runs, state * runs, fixed * runs}; }
};

// Needs of a pass, without data and results.
Needs needs_of(const Pass& pass);

// Bytes of the data and numbers of a point of the sweep axis.
double bytes_of_column(const Pass& pass);

// Bytes of a state in float64 with its storage, as the kernels hold it.
std::int64_t state_bytes(const Output& o);

}  // namespace cuda
}  // namespace kernweave
