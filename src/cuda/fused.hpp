// Finds the kernel that was compiled at installation for just the pairs that a script has.
#pragma once
#include <vector>
#include "cuda/pass.hpp"
#include "kernweave/gpu/script.hpp"

namespace kernweave {
namespace cuda {

// Its name, as in kernweave/fused.def; null where there is none for these pairs, or following their instructions is
// faster.
const char* fused_kernel(const Pass& pass, const std::vector<gpu::Instruction>& pairs);

// Moves the fold's instruction to the front, where these kernels read it. What the fold may start with came before.
void fold_first(std::vector<gpu::Instruction>* pairs);

}  // namespace cuda
}  // namespace kernweave
