// A pass as CUDA source: straight code that calls the rows' functions. Names and texts of the user's never get in.
#pragma once
#include <string>
#include "cuda/pass.hpp"

namespace kernweave {
namespace cuda {

// Kernels named once, columns, rows, sweep, merge and total (kernweave/gpu/sweep.hpp), for Arguments of as many data
// as the plan has variables, and as many targets as the pass has outputs. Equal text: the same kernels.
std::string source_of(const Pass& pass);

}  // namespace cuda
}  // namespace kernweave
