// The back end for NVIDIA GPUs: kernels compiled at run time for each plan.
#pragma once
#include "schedule/backend.hpp"

namespace kernweave {

// `devices`: "gpu", which is the first; "all"; or numbers, as "1" or "0,2".
const Backend& cuda_backend(const std::string& devices);

}  // namespace kernweave
