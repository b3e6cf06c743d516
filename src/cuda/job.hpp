// One pass on one device: memory, arguments, launches.
#pragma once
#include "cuda/device.hpp"
#include "cuda/interpret.hpp"
#include "cuda/pass.hpp"
#include "schedule/backend.hpp"

namespace kernweave {
namespace cuda {

// Data sent to a device, to stay there until the copy is given up.
std::unique_ptr<Copy> sent_to_stay(const View& view, Device* device);

// How a pass is carried out: its source, or where it is interpreted, its script.
struct Code {
  std::string source;
  Interpretation interpretation;
};

// Computes the outputs of the pass, and fetches them where they shall not stay. False, with nothing done to them, where tensor
// cores met a number that halves cannot tell.
bool run_pass(const Pass& pass, const Code& code, const Task& task, double seconds, Device* device);

}  // namespace cuda
}  // namespace kernweave
