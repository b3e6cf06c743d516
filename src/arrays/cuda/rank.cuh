// Orders of few numbers on a device, by counting: a thread for each.
#pragma once
#include "arrays/cuda/runtime.cuh"

namespace kernweave::arrays::cuda {

// How many items go before item k in the stable order of the numbers.
__device__ inline int rank_of(const int* numbers, int count, int k) {
  const int own = numbers[k];
  int before = 0;
#pragma unroll 8
  for (int j = 0; j < count; ++j) before += numbers[j] < own || (numbers[j] == own && j < k);
  return before;
}

}  // namespace kernweave::arrays::cuda
