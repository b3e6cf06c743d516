// Joins on a device: both tables sorted, one way through them that counts partners, running totals of these, and a walk
// along the totals.
#include <thrust/iterator/transform_iterator.h>
#include "arrays/cuda/counts.cuh"
#include "arrays/cuda/radix.cuh"
#include "arrays/cuda/search.cuh"
#include "arrays/cuda/walk.cuh"

namespace kernweave::arrays::cuda {
namespace {

constexpr int kNone = std::numeric_limits<int>::min();
constexpr int kAlone = -1;  // first partner of a row that has none

// The partners of a row of x: how many there are, and the first of them among the sorted rows of y.
struct alignas(8) Partners {
  int count, first;
};

struct CountOf {
  int least;
  KW_FN Index operator()(const Partners& partners) const { return max(partners.count, least); }
};

// Told of each row of x where its key begins in y, and of each row of y whether x has its key.
template <class Key>
struct FindPartners {
  const Key* y_keys;
  Index y_count;
  const int *x_rows, *y_rows;
  bool missing_match;
  Partners* partners;
  std::uint8_t* alone;  // rows of y that x has not; null where nobody asks

  __device__ void of_a(Index k, Key key, Index place, bool equal) const {
    const bool has = equal && (missing_match || !is_missing_key(key));
    partners[x_rows[k] - 1] = has ? Partners{static_cast<int>(run_at(place, key)), static_cast<int>(place)}
                                  : Partners{0, kAlone};
  }
  __device__ void of_b(Index k, Key key, Index, bool equal) const {
    if (alone) alone[y_rows[k] - 1] = !(equal && (missing_match || !is_missing_key(key)));
  }

 private:
  // Counts the rows of y that have the key, in ever larger steps: most keys have few.
  __device__ Index run_at(Index place, Key key) const {
    constexpr Index kFirst = 4, kGrowth = 16;
    Index run = 0;
    for (Index most = kFirst;; most *= kGrowth) {
      run = partition::run_length(y_keys, place, y_count, key, most, partition::Less());
      if (run < most) return run;
    }
  }
};

struct WritePair : ItemsAlone {
  const Partners* partners;
  const int* y_rows;
  int *x, *y;
  int none;
  __device__ void operator()(Index item, Index object, Index rank) const {
    x[item] = static_cast<int>(object + 1);
    const int first = partners[object].first;
    y[item] = first == kAlone ? none : y_rows[first + rank];
  }
};

template <class Item>
Sorting<KeyOf<Item>> sorted_rows(Device& gpu, const Item* items, Index count, const JoinOf& task) {
  Sorting<KeyOf<Item>> sorting(gpu, count);
  sorting.number(gpu);
  sorting.fill(gpu, KeysOf<Item>{items, nullptr, false, task.missing_match, task.not_available});
  sorting.sort(gpu);
  return sorting;
}

template <class Item>
void join_by(Device& gpu, const Item* x_items, const Item* y_items, const JoinOf& task, Results& made) {
  using Key = KeyOf<Item>;
  const auto x = sorted_rows(gpu, x_items, task.x[0].count, task);
  const auto y = sorted_rows(gpu, y_items, task.y[0].count, task);
  const Block partners = room_for<Partners>(gpu, x.count), offsets = room_for<Index>(gpu, x.count + 1);
  Block flags;
  if (task.keep_y) flags = room_for<std::uint8_t>(gpu, y.count);
  auto* const of_rows = pointer<Partners>(partners);
  auto* const flag = pointer<std::uint8_t>(flags);
  const auto *const x_keys = pointer<Key>(x.keys[0]), *const y_keys = pointer<Key>(y.keys[0]);
  const int *const x_rows = pointer<int>(x.rows[0]), *const y_rows = pointer<int>(y.rows[0]);
  pass_through(gpu, TwoLists<Key>{x_keys, y_keys, x.count, y.count},
               FindPartners<Key>{y_keys, y.count, x_rows, y_rows, task.missing_match, of_rows, flag});
  const auto counts = thrust::make_transform_iterator(static_cast<const Partners*>(of_rows),
                                                      CountOf{task.keep_x ? 1 : 0});
  const Index pairs = running_totals(gpu, counts, x.count, pointer<Index>(offsets));
  const Made alone = flag ? flagged_numbers(gpu, flag, y.count, y.count) : Made();
  const Index all = pairs + alone.count;
  Block rows_x = room_for<int>(gpu, all, "pairs"), rows_y = room_for<int>(gpu, all, "pairs");
  int *const to_x = pointer<int>(rows_x), *const to_y = pointer<int>(rows_y);
  walk_all(gpu, Objects<const Index*>{pointer<Index>(offsets) + 1, x.count, pairs},
           WritePair{{}, of_rows, y_rows, to_x, to_y, kNone});
  const int* const rows = pointer<int>(alone.block);
  for_each_number(gpu, alone.count, [=] __device__(Index k) {
    to_x[pairs + k] = kNone;
    to_y[pairs + k] = rows[k];
  });
  made.adopt("x", std::move(rows_x), all, Results::Kind::integers);
  made.adopt("y", std::move(rows_y), all, Results::Kind::integers);
}

}  // namespace

void CudaVerbs::join(const JoinOf& task, Results& made) const {
  if (task.x.size() > 1) throw Declined();
  with_lists(task.x[0], task.y[0], [&](auto* x, auto* y) { join_by(gpu, x, y, task, made); });
}

}  // namespace kernweave::arrays::cuda
