// Orders on a device: by one column after the other, the last one first, or of segments by one column; groups of equal
// keys; sorted items.
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include "arrays/cuda/counts.cuh"
#include "arrays/cuda/radix.cuh"
#include "arrays/cuda/tile_order.cuh"
#include "arrays/cuda/verbs.hpp"
#include "arrays/cuda/walk.cuh"

namespace kernweave::arrays::cuda {
namespace {

// Rows ordered by further keys, those that are equal staying as they are.
template <class Item>
void order_further(Device& gpu, const Item* items, Index count, bool decreasing, Block* rows) {
  Sorting<KeyOf<Item>> sorting(gpu, count);
  const bool ordered = static_cast<bool>(*rows);
  if (ordered) {
    sorting.rows[0] = std::move(*rows);
    sorting.rows[1] = room_for<int>(gpu, count);
  } else {
    sorting.number(gpu);
  }
  sorting.fill(gpu, KeysOf<Item>{items, ordered ? pointer<int>(sorting.rows[0]) : nullptr, decreasing});
  sorting.sort(gpu);
  *rows = std::move(sorting.rows[0]);
}

struct WriteNumber : ItemsAlone {
  std::uint32_t* to;
  __device__ void operator()(Index item, Index object, Index) const { to[item] = static_cast<std::uint32_t>(object); }
};

struct WriteCode : ItemsAlone {
  const int* order;
  int* codes;
  __device__ void operator()(Index item, Index object, Index) const {
    codes[order[item] - 1] = static_cast<int>(object + 1);
  }
};

struct LengthOf {
  Whole offsets;
  KW_FN Index operator()(Index k) const { return offsets[k + 1] - offsets[k]; }
};

// Items of the longest segment. Waits.
Index longest_of(Device& gpu, const Whole& offsets) {
  const Block most = room_for<Index>(gpu, 1);
  const auto lengths = thrust::make_transform_iterator(thrust::make_counting_iterator(Index{0}), LengthOf{offsets});
  with_scratch(gpu, "lengths of segments", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceReduce::Max(scratch, bytes, lengths, pointer<Index>(most), offsets.count - 1, stream_of(gpu));
  });
  return fetched(gpu, pointer<Index>(most));
}

// Counts the bits that tell so many things apart.
int bits_for(Index things) {
  int bits = 0;
  while ((things - 1) >> bits > 0) ++bits;
  return bits;
}

// A word has the number of a segment, of a key the bits in which keys differ, and which item of the segment it is.
template <class Key>
struct WriteWord : ItemsAlone {
  const Key* keys;
  int first_bit, key_bits, rank_bits;
  std::uint64_t* to;
  __device__ void operator()(Index item, Index object, Index rank) const {
    const std::uint64_t key = (keys[item] >> first_bit) & ((std::uint64_t{1} << key_bits) - 1);
    to[item] = (static_cast<std::uint64_t>(object) << key_bits | key) << rank_bits | static_cast<std::uint64_t>(rank);
  }
};

// Rows of segments, one after the other, by words; none where 64 bits do not hold them.
template <class Item>
std::optional<Block> order_by_words(Device& gpu, const Item* items, Index count, bool decreasing,
                                    const Whole& offsets, Index longest) {
  using Key = KeyOf<Item>;
  const Index segments = offsets.count - 1;
  const int rank_bits = bits_for(longest), segment_bits = bits_for(segments);
  Sorting<Key> keys(gpu, count);
  keys.fill(gpu, KeysOf<Item>{items, nullptr, decreasing});
  const int key_bits = keys.last_bit - keys.first_bit;
  if (segment_bits + key_bits + rank_bits > 64 || key_bits == 64) return std::nullopt;
  Sorting<std::uint64_t> words(gpu, count);
  auto* const word = pointer<std::uint64_t>(words.keys[0]);
  walk_all(gpu, Objects<Whole>{offsets.from(1), segments, count},
           WriteWord<Key>{{}, pointer<Key>(keys.keys[0]), keys.first_bit, key_bits, rank_bits, word});
  words.first_bit = rank_bits;
  words.last_bit = rank_bits + key_bits + segment_bits;
  words.sort_keys(gpu);
  const auto* const sorted = pointer<std::uint64_t>(words.keys[0]);
  Block rows = room_for<int>(gpu, count);
  int* const to = pointer<int>(rows);
  for_each_number(gpu, count, [=] __device__(Index k) {
    const Index segment = segment_bits == 0 ? 0 : static_cast<Index>(sorted[k] >> (key_bits + rank_bits));
    const std::uint64_t rank = sorted[k] & ((std::uint64_t{1} << rank_bits) - 1);
    to[k] = static_cast<int>(offsets[segment] + static_cast<Index>(rank) + 1);
  });
  return rows;
}

template <class Item>
std::optional<Block> order_in_segments(Device& gpu, const Item* items, Index count, bool decreasing,
                                       const Whole& offsets) {
  const Index longest = longest_of(gpu, offsets);
  const auto tiles = tiles_of(offsets, count, longest);
  if (!tiles) return order_by_words(gpu, items, count, decreasing, offsets, longest);
  Block rows = room_for<int>(gpu, count);
  launch(gpu, order_tiles<Item>, dim3(blocks_for(tiles->tiles, kOrderThreads / kWarp)), kOrderThreads, items,
         decreasing, *tiles, pointer<int>(rows));
  return rows;
}

template <class Key>
struct IsHead {
  const Key* keys;
  KW_FN bool operator()(int k) const { return k == 0 || keys[k] != keys[k - 1]; }
};

// Finds where groups of equal keys begin; behind the last group stands the number of keys.
template <class Key>
Made find_heads(Device& gpu, const Key* keys, Index count) {
  Made made{room_for<int>(gpu, count + 1), 0};
  const Block number = room_for<Index>(gpu, 1);
  with_scratch(gpu, "groups", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceSelect::If(scratch, bytes, thrust::make_counting_iterator(0), pointer<int>(made.block),
                                 pointer<Index>(number), count, IsHead<Key>{keys}, stream_of(gpu));
  });
  made.count = fetched(gpu, pointer<Index>(number)) + 1;
  const int end = static_cast<int>(count);
  gpu.upload(made.block.at() + sizeof(int) * static_cast<std::size_t>(made.count - 1), &end, sizeof end);
  return made;
}

template <class Item>
void group_by(Device& gpu, const Item* items, Index count, Results& made) {
  Sorting<KeyOf<Item>> sorting(gpu, count);
  sorting.number(gpu);
  sorting.fill(gpu, KeysOf<Item>{items, nullptr, false});
  sorting.sort(gpu);
  Made ends = find_heads(gpu, pointer<KeyOf<Item>>(sorting.keys[0]), count);
  const Index groups = ends.count - 1;
  const int *const order = pointer<int>(sorting.rows[0]), *const offsets = pointer<int>(ends.block);
  int *const codes = made.numbers("codes", groups, count).integers,
             *const heads = made.numbers("heads", count, groups).integers;
  walk_all(gpu, Objects<Whole>{{offsets + 1, nullptr, groups}, groups, count}, WriteCode{{}, order, codes});
  for_each_number(gpu, groups, [=] __device__(Index g) { heads[g] = order[offsets[g]]; });
  made.adopt("offsets", std::move(ends.block), ends.count, Results::Kind::integers);
  made.adopt("order", std::move(sorting.rows[0]), count, Results::Kind::integers);
}

template <class Item>
std::optional<Block> sorted_of(Device& gpu, const Item* items, Index count, bool decreasing) {
  using Key = KeyOf<Item>;
  Sorting<Key> sorting(gpu, count);
  sorting.fill(gpu, KeysOf<Item>{items, nullptr, decreasing});
  if (sorting.inexact) return std::nullopt;
  sorting.sort_keys(gpu);
  const Key* const keys = pointer<Key>(sorting.keys[0]);
  auto* const to = pointer<Item>(sorting.keys[1]);
  for_each_number(gpu, count,
                  [=] __device__(Index k) { to[k] = item_of(decreasing ? turned(keys[k]) : keys[k]); });
  return std::move(sorting.keys[1]);
}

Block order_of(Device& gpu, const OrderOf& task) {
  Block rows;
  const Index count = task.columns.front().count;
  const Whole& offsets = task.offsets;
  if (offsets && task.columns.size() == 1) {
    std::optional<Block> found;
    with_array(task.columns[0], [&](auto* items) {
      found = order_in_segments(gpu, items, count, task.decreasing[0], offsets);
    });
    if (found) return std::move(*found);
  }
  for (std::size_t c = task.columns.size(); c-- > 0;)
    with_array(task.columns[c], [&](auto* items) { order_further(gpu, items, count, task.decreasing[c], &rows); });
  if (!offsets) return rows;
  const Block numbers = room_for<std::uint32_t>(gpu, count);
  auto* const to = pointer<std::uint32_t>(numbers);
  walk_all(gpu, Objects<Whole>{offsets.from(1), offsets.count - 1, count}, WriteNumber{{}, to});
  order_further(gpu, static_cast<const std::uint32_t*>(to), count, false, &rows);
  return rows;
}

}  // namespace

void CudaVerbs::order(const OrderOf& task, Results& made) const {
  made.adopt(nullptr, order_of(gpu, task), task.columns[0].count, Results::Kind::integers);
}

// Sorts without an order of items, unless NaN or -0 are among them.
void CudaVerbs::sort(const OrderOf& task, Results& made) const {
  const Column& x = task.columns[0];
  std::optional<Block> sorted;
  with_array(x, [&](auto* from) { sorted = sorted_of(gpu, from, x.count, task.decreasing[0]); });
  if (sorted) return made.adopt(nullptr, std::move(*sorted), x.count, Results::Kind::items);
  const Block rows = order_of(gpu, task);
  const Whole order{pointer<int>(rows), nullptr, x.count};
  with_items(x, [&](auto* from) { take({from, x.count, sizeof *from, made.items(x.count)}, order); });
}

void CudaVerbs::groups(const Column& keys, Results& made) const {
  with_array(keys, [&](auto* items) { group_by(gpu, items, keys.count, made); });
}

void sort_index(Device& gpu, const int* index, Index count, Index extent, int* keys, int* order) {
  if (count <= kRankedItems) {
    const int all = static_cast<int>(count);
    return for_each_number(gpu, count, [=] __device__(Index k) {
      const int place = rank_of(index, all, static_cast<int>(k));
      keys[place] = index[k];
      order[place] = static_cast<int>(k + 1);
    });
  }
  Sorting<std::uint32_t> sorting(gpu, count);
  sorting.number(gpu);
  copy(gpu, pointer<void>(sorting.keys[0]), index, static_cast<std::size_t>(count) * sizeof(int));
  sorting.last_bit = 1;
  while (extent >> sorting.last_bit) ++sorting.last_bit;
  sorting.sort(gpu);
  copy(gpu, keys, pointer<void>(sorting.keys[0]), static_cast<std::size_t>(count) * sizeof(int));
  copy(gpu, order, pointer<void>(sorting.rows[0]), static_cast<std::size_t>(count) * sizeof(int));
}

}  // namespace kernweave::arrays::cuda
