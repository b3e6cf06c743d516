// Moves on a device: what is written and the ends of objects are cut into even tiles by a search, and a block finds the
// object of each of its items.
#pragma once
#include "arrays/cuda/runtime.cuh"
#include "arrays/cuda/tuning.hpp"

namespace kernweave::arrays::cuda {

// Objects with items each, as tiles see them.
template <class Ends>
struct Objects {
  Ends ends;
  Index objects, items;

  Index tiles() const { return (objects + items + kWalkTile.items() - 1) / kWalkTile.items(); }
  KW_FN Index diagonal(Index tile) const {
    const Index at = tile * kWalkTile.items(), all = objects + items;
    return at < all ? at : all;
  }
};

template <class Ends>
__global__ void __launch_bounds__(256) cut_tiles(Objects<Ends> o, Index tiles, Index* cuts) {
  const Index tile = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (tile <= tiles) cuts[tile] = partition::walk_to(o.ends, o.objects, o.items, o.diagonal(tile)).object;
}

// Calls put(item, object, rank) for every item, the rank from 0, and put.end(object, item) for every end.
template <class Ends, class Put>
__global__ void __launch_bounds__(kWalkTile.threads) walk_tiles(Objects<Ends> o, const Index* cuts, Put put) {
  constexpr int kThreads = kWalkTile.threads, kEach = kWalkTile.each, kItems = kWalkTile.items();
  __shared__ int ends[kItems], owner[kItems];
  const int thread = static_cast<int>(threadIdx.x);
  const Index object = cuts[blockIdx.x], from = o.diagonal(blockIdx.x), item = from - object;
  const int own = static_cast<int>(cuts[blockIdx.x + 1] - object);
  const int count = static_cast<int>(o.diagonal(blockIdx.x + 1) - from) - own;
  const Index begin = object == 0 ? 0 : static_cast<Index>(o.ends[object - 1]);
  for (int k = thread; k < own; k += kThreads) ends[k] = static_cast<int>(o.ends[object + k] - item);
  __syncthreads();
  const int first = min(thread * kEach, own + count);
  int mine = static_cast<int>(partition::merge_path(ends, own, partition::Counting(), count, first));
  int next = first - mine;
  for (int k = first; k < min(first + kEach, own + count); ++k) {
    if (mine < own && ends[mine] <= next) ++mine;
    else owner[next++] = mine;
  }
  __syncthreads();
#pragma unroll
  for (int v = 0; v < kEach; ++v) {
    const int k = v * kThreads + thread;
    if (k < count) {
      const int at = owner[k];
      put(item + k, object + at, at == 0 ? item + k - begin : static_cast<Index>(k - ends[at - 1]));
    }
  }
  for (int k = thread; k < own; k += kThreads) put.end(object + k, item + ends[k]);
}

template <class Ends, class Put>
void walk_all(Device& gpu, const Objects<Ends>& o, const Put& put) {
  const Index tiles = o.tiles();
  if (tiles == 0) return;
  const Block cuts = room_for<Index>(gpu, tiles + 1);
  launch(gpu, cut_tiles<Ends>, dim3(blocks_for(tiles + 1, 256)), 256, o, tiles, pointer<Index>(cuts));
  launch(gpu, walk_tiles<Ends, Put>, dim3(static_cast<unsigned>(tiles)), kWalkTile.threads, o,
         static_cast<const Index*>(pointer<Index>(cuts)), put);
}

// A base for `put` of walk_tiles() that does nothing where objects end.
struct ItemsAlone {
  __device__ void end(Index, Index) const {}
};

}  // namespace kernweave::arrays::cuda
