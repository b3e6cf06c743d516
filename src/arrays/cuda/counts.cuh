// Counts on a device: orders of few numbers, a thread for each, and running totals.
#pragma once
#include <cub/device/device_scan.cuh>
#include "arrays/cuda/runtime.cuh"

namespace kernweave::arrays::cuda {

// The number of items before item k in the stable order of the numbers.
__device__ inline int rank_of(const int* numbers, int count, int k) {
  const int own = numbers[k];
  int before = 0;
#pragma unroll 8
  for (int j = 0; j < count; ++j) before += numbers[j] < own || (numbers[j] == own && j < k);
  return before;
}

// How many items come before each of `count` objects, and in all: that is returned. Waits.
template <class Counts>
Index running_totals(Device& gpu, Counts counts, Index count, Index* offsets) {
  check(cudaMemsetAsync(offsets, 0, sizeof(Index), stream_of(gpu)), "clearing memory");
  if (count == 0) return 0;
  with_scratch(gpu, "running totals", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(scratch, bytes, counts, offsets + 1, count, stream_of(gpu));
  });
  return fetched(gpu, offsets + count);
}

}  // namespace kernweave::arrays::cuda
