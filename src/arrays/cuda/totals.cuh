// Running totals of counts on a device.
#pragma once
#include <cub/device/device_scan.cuh>
#include "arrays/cuda/runtime.cuh"

namespace kernweave::arrays::cuda {

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
