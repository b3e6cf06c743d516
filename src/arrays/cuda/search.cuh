// One way through two sorted lists on a device: of each item, how many of the other list come before it, and whether
// an equal one is there. Lists are of items or of keys (arrays/cuda/keys.cuh), and equal items of the first come before
// those of the second.
#pragma once
#include "arrays/cuda/keys.cuh"
#include "arrays/cuda/tuning.hpp"
#include "arrays/cuda/verbs.hpp"

namespace kernweave::arrays::cuda {

// Two lists as tiles see them.
template <class Item>
struct TwoLists {
  const Item *a, *b;
  Index a_count, b_count;

  Index tiles() const { return (a_count + b_count + kSearchTile.items() - 1) / kSearchTile.items(); }
  KW_FN Index diagonal(Index tile) const {
    const Index at = tile * kSearchTile.items(), all = a_count + b_count;
    return at < all ? at : all;
  }
};

template <class Item>
__global__ void __launch_bounds__(256) cut_lists(TwoLists<Item> lists, Index tiles, Index* cuts) {
  const Index tile = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (tile > tiles) return;
  cuts[tile] = partition::merge_path(lists.a, lists.a_count, lists.b, lists.b_count, lists.diagonal(tile), KeyLess());
}

// Keys of items first .. first + count - 1, and of one more on either side where there is one.
template <class Item, class Key>
__device__ void load_keys(const Item* items, Index all, Index first, int count, Key* to) {
  for (int k = static_cast<int>(threadIdx.x) - 1; k <= count; k += kSearchTile.threads)
    if (first + k >= 0 && first + k < all) to[k + 1] = sortable(items[first + k]);
}

// Calls found.of_a(number, key, place, equal) and found.of_b() for all items.
template <class Item, class Found>
__global__ void __launch_bounds__(kSearchTile.threads) search_tiles(TwoLists<Item> lists, const Index* cuts,
                                                                    Found found) {
  using Key = KeyOf<Item>;
  constexpr int kThreads = kSearchTile.threads, kEach = kSearchTile.each, kItems = kSearchTile.items();
  __shared__ Key keys[kItems + 4];
  __shared__ int places[kItems];
  const int thread = static_cast<int>(threadIdx.x);
  const Index from = lists.diagonal(blockIdx.x), a = cuts[blockIdx.x], b = from - a;
  const int a_own = static_cast<int>(cuts[blockIdx.x + 1] - a);
  const int b_own = static_cast<int>(lists.diagonal(blockIdx.x + 1) - from) - a_own;
  Key *const a_keys = keys + 1, *const b_keys = keys + a_own + 3;
  load_keys(lists.a, lists.a_count, a, a_own, a_keys - 1);
  load_keys(lists.b, lists.b_count, b, b_own, b_keys - 1);
  __syncthreads();
  const int first = min(thread * kEach, a_own + b_own);
  int i = static_cast<int>(partition::merge_path(a_keys, a_own, b_keys, b_own, first)), j = first - i;
  for (int k = first; k < min(first + kEach, a_own + b_own); ++k) {
    if (i < a_own && (j >= b_own || !(b_keys[j] < a_keys[i]))) places[i++] = j;
    else places[a_own + j++] = i;
  }
  __syncthreads();
  for (int k = thread; k < a_own; k += kThreads) {
    const int next = places[k];
    found.of_a(a + k, a_keys[k], b + next, b + next < lists.b_count && b_keys[next] == a_keys[k]);
  }
  for (int k = thread; k < b_own; k += kThreads) {
    const int next = places[a_own + k];
    found.of_b(b + k, b_keys[k], a + next, a + next > 0 && a_keys[next - 1] == b_keys[k]);
  }
}

template <class Item, class Found>
void pass_through(Device& gpu, const TwoLists<Item>& lists, const Found& found) {
  const Index tiles = lists.tiles();
  if (tiles == 0) return;
  const Block cuts = room_for<Index>(gpu, tiles + 1);
  launch(gpu, cut_lists<Item>, dim3(blocks_for(tiles + 1, 256)), 256, lists, tiles, pointer<Index>(cuts));
  launch(gpu, search_tiles<Item, Found>, dim3(static_cast<unsigned>(tiles)), kSearchTile.threads, lists,
         static_cast<const Index*>(pointer<Index>(cuts)), found);
}

}  // namespace kernweave::arrays::cuda
