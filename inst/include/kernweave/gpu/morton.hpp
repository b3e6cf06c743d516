// Kernels of the Morton order of points: keys, a stable radix sort, and the ends of the parts of boxes.
#pragma once
#include "far_task.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

__device__ inline int morton_number() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

// Computes the key of each point: interleaved bits of its positions along the axes, the highest first. Keys are equal
// to those of the host (src/far/octree.cpp).
template <int D>
__device__ void morton_keys(const MortonTask& t) {
  const int point = morton_number();
  if (point >= t.points) return;
  const double cells = static_cast<double>(1LL << t.halvings), scale = cells / t.width;
  long long places[D];
  for (int d = 0; d < D; ++d) {
    const double along = (t.numbers[static_cast<long long>(d) * t.points + point] - t.least[d]) * scale;
    places[d] = static_cast<long long>(fmin(cells - 1, fmax(0.0, along)));
  }
  unsigned long long key = 0;
  for (int bit = t.halvings; bit-- > 0;)
    for (int d = 0; d < D; ++d) key = key << 1 | (places[d] >> bit & 1);
  t.keys_to[point] = key;
  t.order_to[point] = point;
}

__device__ inline int morton_digit(const MortonTask& t, int at) {
  return static_cast<int>(t.keys[at] >> t.shift) & (kMortonDigits - 1);
}

// Counts the keys of a tile that have each digit.
__device__ inline void morton_count(const MortonTask& t) {
  __shared__ int count[kMortonDigits];
  count[threadIdx.x] = 0;
  __syncthreads();
  const int first = blockIdx.x * kMortonTile;
  for (int at = first + threadIdx.x; at < first + kMortonTile && at < t.points; at += kMortonThreads)
    atomicAdd(&count[morton_digit(t, at)], 1);
  __syncthreads();
  t.counts[threadIdx.x * t.tiles + blockIdx.x] = count[threadIdx.x];
}

// Replaces counts, in the order of digits and then of tiles, by their exclusive prefix sums. One block.
__device__ inline void morton_places(const MortonTask& t) {
  __shared__ int sums[kMortonScan];
  const int all = kMortonDigits * t.tiles, each = (all + kMortonScan - 1) / kMortonScan;
  const int first = threadIdx.x * each, last = first + each < all ? first + each : all;
  int mine = 0;
  for (int k = first; k < last; ++k) mine += t.counts[k];
  sums[threadIdx.x] = mine;
  for (int step = 1; step < kMortonScan; step *= 2) {
    __syncthreads();
    const int before = static_cast<int>(threadIdx.x) >= step ? sums[threadIdx.x - step] : 0;
    __syncthreads();
    sums[threadIdx.x] += before;
  }
  int place = sums[threadIdx.x] - mine;
  for (int k = first; k < last; ++k) {
    const int count = t.counts[k];
    t.counts[k] = place;
    place += count;
  }
}

// Moves items. Each warp of a block has contiguous items, and takes 32 at a time, so that equal digits keep their
// order.
__device__ inline void morton_move(const MortonTask& t) {
  constexpr int kWarp = 32, kWarps = kMortonThreads / kWarp;
  __shared__ int next[kWarps][kMortonDigits];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  for (int w = 0; w < kWarps; ++w) next[w][threadIdx.x] = 0;
  __syncthreads();
  const int first = blockIdx.x * kMortonTile + warp * kWarp * kMortonEach + lane;
  const auto each_round = [&](auto f) {
    for (int round = 0; round < kMortonEach; ++round) {
      const int at = first + round * kWarp;
      const unsigned there = __ballot_sync(~0u, at < t.points);
      if (at < t.points) {
        const int digit = morton_digit(t, at);
        f(at, digit, __match_any_sync(there, digit), there);
      }
      __syncwarp();
    }
  };
  const auto leads = [&](unsigned same) { return __ffs(same) - 1 == lane; };
  each_round([&](int, int digit, unsigned same, unsigned) {
    if (leads(same)) next[warp][digit] += __popc(same);
  });
  __syncthreads();
  int place = t.counts[threadIdx.x * t.tiles + blockIdx.x];
  for (int w = 0; w < kWarps; ++w) {
    const int count = next[w][threadIdx.x];
    next[w][threadIdx.x] = place;
    place += count;
  }
  __syncthreads();
  each_round([&](int at, int digit, unsigned same, unsigned there) {
    const int to = next[warp][digit] + __popc(same & ((1u << lane) - 1));
    __syncwarp(there);
    if (leads(same)) next[warp][digit] += __popc(same);
    t.keys_to[to] = t.keys[at];
    t.order_to[to] = t.order[at];
  });
}

template <int D>
__device__ void morton_components(const MortonTask& t) {
  const int place = morton_number();
  if (place >= t.points) return;
  const int point = t.order[place];
  for (int d = 0; d < D; ++d) {
    const long long column = static_cast<long long>(d) * t.points;
    t.components[column + place] = t.numbers[column + point];
  }
}

// Finds the end of each part of a box: the first point, in order, of a later part.
template <int D>
__device__ void morton_ends(const MortonTask& t) {
  const int number = morton_number(), box = number >> D;
  const unsigned long long part = number & ((1 << D) - 1);
  if (box >= t.box_count) return;
  int low = static_cast<int>(t.boxes[2 * box]), high = static_cast<int>(t.boxes[2 * box + 1]);
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if ((t.keys[middle] >> t.behind & ((1 << D) - 1)) <= part) low = middle + 1;
    else high = middle;
  }
  t.ends[number] = low;
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
