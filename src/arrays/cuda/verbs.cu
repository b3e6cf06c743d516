// Tells whether a device runs the verbs that were compiled.
#include "arrays/cuda/verbs.hpp"
#include "arrays/cuda/runtime.cuh"

namespace kernweave::arrays::cuda {
namespace {

__global__ void probe() {}

}  // namespace

std::unique_ptr<Verbs> verbs_on(Device& gpu) {
  gpu.enter();
  cudaFuncAttributes attributes;
  const bool works = cudaFree(nullptr) == cudaSuccess && cudaFuncGetAttributes(&attributes, probe) == cudaSuccess;
  (void)cudaGetLastError();
  return works ? std::make_unique<CudaVerbs>(gpu) : nullptr;
}

}  // namespace kernweave::arrays::cuda
