// One pass on one device: memory, arguments, launches.
#pragma once
#include "cuda/device.hpp"
#include "cuda/pass.hpp"
#include "schedule/backend.hpp"

namespace kernweave {
namespace cuda {

// Computes the outputs of the pass and fetches them.
void run_pass(const Pass& pass, const Task& task, double seconds, Device* device);

}  // namespace cuda
}  // namespace kernweave
