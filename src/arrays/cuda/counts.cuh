// Counts on a device: orders of few numbers, a thread for each, and running totals.
#pragma once
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
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

// Counts the items that come before each of `count` objects, and in all: that is returned. Waits.
template <class Counts>
Index running_totals(Device& gpu, Counts counts, Index count, Index* offsets) {
  check(cudaMemsetAsync(offsets, 0, sizeof(Index), stream_of(gpu)), "clearing memory");
  if (count == 0) return 0;
  with_scratch(gpu, "running totals", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(scratch, bytes, counts, offsets + 1, count, stream_of(gpu));
  });
  return fetched(gpu, offsets + count);
}

// Numbers from 1 of what is flagged, `most` at most.
inline Made flagged_numbers(Device& gpu, const std::uint8_t* flag, Index count, Index most) {
  const Block number = room_for<Index>(gpu, 1);
  Made made{room_for<int>(gpu, most), 0};
  with_scratch(gpu, "flags", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceSelect::Flagged(scratch, bytes, thrust::make_counting_iterator(1), flag, pointer<int>(made.block),
                                      pointer<Index>(number), count, stream_of(gpu));
  });
  made.count = fetched(gpu, pointer<Index>(number));
  return made;
}

}  // namespace kernweave::arrays::cuda
