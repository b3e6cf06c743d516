// The back end for NVIDIA GPUs: kernels compiled at run time for each plan.
#pragma once
#include "schedule/backend.hpp"

namespace kernweave {

const Backend& cuda_backend();

}  // namespace kernweave
