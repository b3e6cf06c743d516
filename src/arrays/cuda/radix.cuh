// Sorting keys by their digits on a device, alone or with the numbers of their rows: only digits in which keys differ.
#pragma once
#include <cub/device/device_radix_sort.cuh>
#include "arrays/cuda/keys.cuh"
#include "arrays/cuda/tuning.hpp"

namespace kernweave::arrays::cuda {

// The bits that keys have in common: a bit is the same in all keys if it is the same in `any` and `all`. `inexact`: an
// item is not what its key tells. `unsorted`: a key is less than the key before it.
template <class Key>
struct Common {
  Key any, all;
  int inexact, unsorted;
};

template <class Key>
struct Atomic {
  using Of = unsigned long long;
};
template <>
struct Atomic<std::uint32_t> {
  using Of = unsigned;
};

template <class Item>
__device__ bool tells_all(Item item) {
  if constexpr (std::is_same_v<Item, double>) return item == item && bits_of(item) != bits_of(-0.0);
  return true;
}

// Keys of items, in an order or as they lie.
template <class Item>
struct KeysOf {
  const Item* items;
  const int* order;
  bool decreasing;
  bool apart = false;  // is NaN a key of its own, after NA, which is this number?
  double not_available = 0;
  __device__ Item item(Index k) const { return items[order ? order[k] - 1 : k]; }
  __device__ auto key(Item item) const {
    if constexpr (std::is_same_v<Item, double>) {
      if (apart && Items{nullptr, nullptr, {}, 0, not_available}.is_missing(item)) return sortable(item) - 1;
    }
    return decreasing ? turned(sortable(item)) : sortable(item);
  }
};

template <class Item>
__global__ void __launch_bounds__(kStream.threads) fill_keys(KeysOf<Item> from, Index count, KeyOf<Item>* keys,
                                                             Common<KeyOf<Item>>* common) {
  using Key = KeyOf<Item>;
  using Bits = typename Atomic<Key>::Of;
  Key any = 0, all = ~Key{0};
  bool inexact = false, unsorted = from.order != nullptr;
  const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
  for (Index k = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; k < count; k += step) {
    const Item item = from.item(k);
    const Key key = from.key(item);
    keys[k] = key;
    any |= key;
    all &= key;
    inexact |= !tells_all(item);
    unsorted = unsorted || (k > 0 && key < from.key(from.items[k - 1]));
  }
  for (int apart = 16; apart > 0; apart /= 2) {
    any |= __shfl_xor_sync(~0u, any, apart);
    all &= __shfl_xor_sync(~0u, all, apart);
  }
  if (inexact) common->inexact = 1;
  if (unsorted) common->unsorted = 1;
  if (threadIdx.x % 32 > 0) return;
  atomicOr(reinterpret_cast<Bits*>(&common->any), static_cast<Bits>(any));
  atomicAnd(reinterpret_cast<Bits*>(&common->all), static_cast<Bits>(all));
}

// Keys in one of two buffers, and if asked for rows in one of two others.
template <class Key>
struct Sorting {
  Block keys[2], rows[2];
  Index count;
  int first_bit = 0, last_bit = 8 * sizeof(Key);
  bool inexact = false, sorted = false;

  Sorting(Device& gpu, Index count) : keys{room_for<Key>(gpu, count), room_for<Key>(gpu, count)}, count(count) {}

  template <class Item>
  void fill(Device& gpu, const KeysOf<Item>& from) {
    const Common<Key> nothing{0, static_cast<Key>(~Key{0}), 0, 0};
    const Block common = room_for<Common<Key>>(gpu, 1);
    gpu.upload(common.at(), &nothing, sizeof nothing);
    auto* const at = pointer<Common<Key>>(common);
    const unsigned most = static_cast<unsigned>(gpu.processors()) * 8;
    launch(gpu, fill_keys<Item>, dim3(std::min(most, blocks_for(count, kStream.items()))), kStream.threads, from, count,
           pointer<Key>(keys[0]), at);
    const Common<Key> found = fetched(gpu, at);
    inexact = found.inexact;
    sorted = !found.unsorted;
    const std::uint64_t differ = static_cast<Key>(found.any ^ found.all);
    first_bit = 0;
    last_bit = 0;
    while (last_bit < static_cast<int>(8 * sizeof(Key)) && differ >> last_bit) ++last_bit;
    while (first_bit < last_bit && !(differ >> first_bit & 1)) ++first_bit;
  }

  void sort_keys(Device& gpu) {
    if (sorted || first_bit == last_bit) return;
    cub::DoubleBuffer<Key> buffers(pointer<Key>(keys[0]), pointer<Key>(keys[1]));
    with_scratch(gpu, "sorting", [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortKeys(scratch, bytes, buffers, static_cast<int>(count), first_bit, last_bit,
                                            stream_of(gpu));
    });
    if (buffers.selector == 1) std::swap(keys[0], keys[1]);
  }

  // Sorts keys and rows; the rows must be there.
  void sort(Device& gpu) {
    if (sorted || first_bit == last_bit) return;
    cub::DoubleBuffer<Key> buffers(pointer<Key>(keys[0]), pointer<Key>(keys[1]));
    cub::DoubleBuffer<int> numbers(pointer<int>(rows[0]), pointer<int>(rows[1]));
    with_scratch(gpu, "sorting", [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortPairs(scratch, bytes, buffers, numbers, static_cast<int>(count), first_bit,
                                             last_bit, stream_of(gpu));
    });
    if (buffers.selector == 1) std::swap(keys[0], keys[1]);
    if (numbers.selector == 1) std::swap(rows[0], rows[1]);
  }

  // Rows 1, 2, 3, ...
  void number(Device& gpu) {
    rows[0] = room_for<int>(gpu, count);
    rows[1] = room_for<int>(gpu, count);
    int* const to = pointer<int>(rows[0]);
    for_each_number(gpu, count, [=] __device__(Index k) { to[k] = static_cast<int>(k + 1); });
  }
};

}  // namespace kernweave::arrays::cuda
