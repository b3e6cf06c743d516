// Finds the kernel that was compiled at installation for just the pairs that a script has.
#pragma once
#include <vector>
#include "kernweave/gpu/chain.hpp"
#include "schedule/schedule.hpp"

namespace kernweave {
namespace cuda {

// Its name, as in kernweave/gpu/wholes.def; null where there is none for these instructions.
const char* whole_of(const std::vector<gpu::Instruction>& pairs);

}  // namespace cuda
}  // namespace kernweave
