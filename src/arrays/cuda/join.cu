// Joins on a device: both tables sorted, two ways through them, running totals of partners, and a walk along these.
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include "arrays/cuda/radix.cuh"
#include "arrays/cuda/search.cuh"
#include "arrays/cuda/walk.cuh"

namespace kernweave::arrays::cuda {
namespace {

constexpr int kAlone = -1;  // first partner of a row that has none

// Of rows of x: partners, and the first of them among the sorted rows of y.
struct Partners {
  Block counts, first;
};

template <class Key>
Partners find_partners(Device& gpu, const Sorting<Key>& x, const Sorting<Key>& y, const JoinOf& task,
                       int* y_matched) {
  const Missing missing{task.missing_match, kAlone};
  const Block lower = room_for<int>(gpu, x.count), upper = room_for<int>(gpu, x.count),
              unused = room_for<int>(gpu, y.count);
  const Key *const x_keys = pointer<Key>(x.keys[0]), *const y_keys = pointer<Key>(y.keys[0]);
  pass_through(gpu, TwoLists<Key>{x_keys, y_keys, x.count, y.count}, {pointer<int>(lower), nullptr},
               {pointer<int>(unused), y_matched}, missing);
  pass_through(gpu, TwoLists<Key>{y_keys, x_keys, y.count, x.count}, {}, {pointer<int>(upper), nullptr}, missing);
  Partners found{room_for<int>(gpu, x.count), room_for<int>(gpu, x.count)};
  const int *const from = pointer<int>(lower), *const to = pointer<int>(upper), *const rows = pointer<int>(x.rows[0]);
  int *const counts = pointer<int>(found.counts), *const first = pointer<int>(found.first);
  const int least = task.keep_x ? 1 : 0;
  for_each_number(gpu, x.count, [=] __device__(Index k) {
    const int row = rows[k] - 1, partners = to[k] - from[k];
    counts[row] = max(partners, least);
    first[row] = partners > 0 ? from[k] : kAlone;
  });
  return found;
}

struct WritePair : ItemsAlone {
  const int *first, *y_rows;
  int *x, *y;
  int none;
  __device__ void operator()(Index item, Index object, Index rank) const {
    x[item] = static_cast<int>(object + 1);
    y[item] = first[object] == kAlone ? none : y_rows[first[object] + rank];
  }
};

// Rows of y without a partner, in their order.
Made rows_alone(Device& gpu, const int* matched, const int* rows, Index count) {
  const Block flags = room_for<std::uint8_t>(gpu, count), number = room_for<Index>(gpu, 1);
  auto* const flag = pointer<std::uint8_t>(flags);
  for_each_number(gpu, count, [=] __device__(Index k) { flag[rows[k] - 1] = !matched[k]; });
  Made made{room_for<int>(gpu, count), 0};
  with_scratch(gpu, "rows without a partner", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceSelect::Flagged(scratch, bytes, thrust::make_counting_iterator(1), flag,
                                      pointer<int>(made.block), pointer<Index>(number), count, stream_of(gpu));
  });
  made.count = fetched(gpu, pointer<Index>(number));
  return made;
}

template <class Item>
Sorting<KeyOf<Item>> sorted_rows(Device& gpu, const Item* items, Index count, const JoinOf& task) {
  Sorting<KeyOf<Item>> sorting(gpu, count);
  sorting.number(gpu);
  sorting.fill(gpu, KeysOf<Item>{items, nullptr, false, task.missing_match, task.not_available});
  sorting.sort(gpu);
  return sorting;
}

template <class Item>
Pairs pairs_of(Device& gpu, const Item* x_items, const Item* y_items, const JoinOf& task, int none) {
  const auto x = sorted_rows(gpu, x_items, task.x.count, task), y = sorted_rows(gpu, y_items, task.y.count, task);
  const Block matched = room_for<int>(gpu, y.count), offsets = room_for<Index>(gpu, x.count + 1);
  clear(gpu, matched, static_cast<std::size_t>(y.count) * sizeof(int));
  const Partners found = find_partners(gpu, x, y, task, pointer<int>(matched));
  const Index* const ends = pointer<Index>(offsets) + 1;
  const Index pairs = offsets_of(gpu, Whole{pointer<int>(found.counts), nullptr, x.count}, pointer<Index>(offsets));
  const Made alone = task.keep_y ? rows_alone(gpu, pointer<int>(matched), pointer<int>(y.rows[0]), y.count) : Made();
  Pairs made{room_for<int>(gpu, pairs + alone.count, "pairs"), room_for<int>(gpu, pairs + alone.count, "pairs"),
             pairs + alone.count};
  int *const to_x = pointer<int>(made.x), *const to_y = pointer<int>(made.y);
  walk_all(gpu, Objects<const Index*>{ends, x.count, pairs},
           WritePair{{}, pointer<int>(found.first), pointer<int>(y.rows[0]), to_x, to_y, none});
  const int* const rows = pointer<int>(alone.block);
  for_each_number(gpu, alone.count, [=] __device__(Index k) {
    to_x[pairs + k] = none;
    to_y[pairs + k] = rows[k];
  });
  return made;
}

}  // namespace

Pairs join(Device& gpu, const JoinOf& task, int none) {
  if (task.x.integers) return pairs_of(gpu, task.x.integers, task.y.integers, task, none);
  return pairs_of(gpu, task.x.doubles, task.y.doubles, task, none);
}

}  // namespace kernweave::arrays::cuda
