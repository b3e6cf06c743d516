// The verbs for arrays on a device whose memory is the host's, that of the driver in tests/testthat/cuda/driver.cpp:
// the tests try the border's device branches by them where there is no device. They replace arrays/cuda/none.cpp.
#include "arrays/cuda/verbs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "arrays/join.hpp"
#include "arrays/keys.hpp"
#include "arrays/move.hpp"
#include "arrays/reduce.hpp"
#include "arrays/sorted.hpp"
#include "device/copy.hpp"
#include "device/driver.hpp"

namespace kernweave::arrays::cuda {
namespace {

const Workers kAlone{};
constexpr int kMost = std::numeric_limits<int>::max(), kMissing = std::numeric_limits<int>::min();

template <class T>
T* room_in(Block* block, Device& gpu, Index count) {
  *block = gpu.allocate(static_cast<std::size_t>(std::max<Index>(count, 1)) * sizeof(T), "a test");
  return device::address<T>(block->at());
}

template <class T>
Made made_of(const std::vector<T>& numbers, Device& gpu) {
  Made made;
  made.count = static_cast<Index>(numbers.size());
  std::copy(numbers.begin(), numbers.end(), room_in<T>(&made.block, gpu, made.count));
  return made;
}

Items column_of(Items items, Index first) {
  if (items.doubles) items.doubles += first;
  else items.integers += first;
  return items;
}

KeyColumn key_of(const Column& column, bool decreasing, bool nan_apart) {
  KeyColumn key;
  key.type = column.doubles ? KeyType::float64 : KeyType::int32;
  key.data = column.doubles ? static_cast<const void*>(column.doubles) : column.integers;
  key.decreasing = decreasing;
  key.nan_apart = nan_apart;
  return key;
}

// work(a, b) with two sorted lists of one type.
template <class Work>
void with_lists(const Column& a, const Column& b, Work work) {
  if (a.doubles || b.doubles) work(Sorted<double>(a.doubles, a.count), Sorted<double>(b.doubles, b.count));
  else work(Sorted<int>(a.integers, a.count), Sorted<int>(b.integers, b.count));
}

template <class List>
using ItemOf = std::remove_const_t<std::remove_reference_t<decltype(*List::items)>>;

void reduce_columns(Device&, const Request& request, const Items& items, Index rows, Index columns,
                    const Whole& offsets, double* out) {
  std::vector<Items> all;
  for (Index c = 0; c < columns; ++c) all.push_back(column_of(items, c * rows));
  reduce(request, all, offsets, kAlone, out);
}

bool scan_columns(Device&, const Request& request, bool exclusive, const Items& items, Index rows, Index columns,
                  const Whole& offsets, const Running& out) {
  bool overflow = false;
  for (Index c = 0; c < columns; ++c) {
    const Running to{out.integers ? out.integers + c * rows : nullptr, out.doubles ? out.doubles + c * rows : nullptr,
                     out.missing};
    overflow |= scan(request, exclusive, column_of(items, c * rows), offsets, kAlone, to);
  }
  return overflow;
}

// --- numbers ------------------------------------------------------------------------------------------------------

Index not_whole(Device&, const Whole& numbers, double least, double most) {
  for (Index k = 0; k < numbers.count; ++k) {
    const double v = numbers.doubles ? numbers.doubles[k] : numbers.integers[k];
    const bool missing = numbers.integers && numbers.integers[k] == kMissing;
    if (missing || !(v >= least && v <= most && v == std::trunc(v))) return k + 1;
  }
  return 0;
}

Index unsorted(Device&, const Column& items, bool strictly) {
  Index at = 0;
  with_array(items, [&](auto v) {
    for (Index k = 1; k < items.count && at == 0; ++k)
      if (!in_order(v[k - 1], v[k]) || (strictly && in_order(v[k], v[k - 1]))) at = k + 1;
  });
  return at;
}

bool as_integers(Device&, const double* from, Index count, int missing, int* to) {
  bool overflow = false;
  for (Index k = 0; k < count; ++k) {
    const bool fits = std::abs(from[k]) <= kMost;
    to[k] = fits ? static_cast<int>(from[k]) : missing;
    overflow |= !fits && from[k] == from[k];
  }
  return overflow;
}

void as_doubles(Device&, const int* from, Index count, int missing, double not_available, double* to) {
  std::transform(from, from + count, to, [&](int v) { return v == missing ? not_available : v; });
}

void copy_bytes(Device&, const void* from, std::size_t bytes, void* to) { std::memcpy(to, from, bytes); }

Index add_up(Device&, const Whole& counts, Index* offsets) {
  offsets[0] = 0;
  for (Index k = 0; k < counts.count; ++k) offsets[k + 1] = offsets[k] + counts[k];
  return offsets[counts.count];
}

void narrowed(Device&, const Index* from, Index count, int* to) {
  std::transform(from, from + count, to, [](Index v) { return static_cast<int>(v); });
}

void taken(Device&, const Column& from, const int* order, Index count, void* to) {
  with_array(from, [&](auto v) {
    const auto items = static_cast<std::remove_const_t<std::remove_reference_t<decltype(*v)>>*>(to);
    for (Index k = 0; k < count; ++k) items[k] = v[order[k] - 1];
  });
}

// --- moves --------------------------------------------------------------------------------------------------------

void removed(Device&, const Moved& x, const Whole& at) {
  arrays::remove_items({x.from, x.count}, at, kAlone, {x.to, x.bytes});
}

void inserted(Device&, const Moved& x, const void* values, const Whole& after) {
  arrays::insert_items({x.from, x.count}, {values, after.count}, after, kAlone, {x.to, x.bytes});
}

void expanded(Device&, const Moved& x, const Whole& offsets, Index) {
  arrays::expand_items({x.from, x.count}, offsets, kAlone, {x.to, x.bytes});
}

void walked(Device&, const Whole& offsets, Index, int* objects, int* ranks) {
  arrays::expand_items({nullptr, offsets.count - 1}, offsets, kAlone, {objects, sizeof(int)});
  ranks_of(offsets, kAlone, ranks);
}

void moved(Device&, const Moved& x, const Whole& from, const Whole& to, const Whole& offsets, Index) {
  arrays::move_items({x.from, x.count}, {from, to, offsets}, kAlone, {x.to, x.bytes});
}

Made rising(Device& gpu, const Whole& at, Index) {
  std::vector<int> places;
  for (Index k = 0; k < at.count; ++k) places.push_back(static_cast<int>(at[k]));
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return made_of(places, gpu);
}

// --- orders -------------------------------------------------------------------------------------------------------

Block order(Device& gpu, const OrderOf& task) {
  std::vector<KeyColumn> keys;
  for (std::size_t c = 0; c < task.columns.size(); ++c)
    keys.push_back(key_of(task.columns[c], task.decreasing[c], false));
  OrderTask radix;
  for (Index k = 0; k < task.offsets.count; ++k) radix.offsets.push_back(task.offsets[k]);
  const Index n = task.columns[0].count;
  Block block;
  radix_order(Keys(keys, n, kAlone), radix, room_in<int>(&block, gpu, n), nullptr);
  return block;
}

std::optional<Block> sorted(Device& gpu, const Column& items, bool decreasing) {
  Block block;
  bool needs_order = false;
  with_array(items, [&](auto from) {
    using Item = std::remove_const_t<std::remove_reference_t<decltype(*from)>>;
    needs_order = std::any_of(from, from + items.count,
                              [](Item v) { return is_missing(v) || (v == 0 && std::signbit(static_cast<double>(v))); });
    Item* const to = room_in<Item>(&block, gpu, items.count);
    std::copy(from, from + items.count, to);
    if (!needs_order) std::sort(to, to + items.count);
    if (decreasing) std::reverse(to, to + items.count);
  });
  if (needs_order) return {};
  return block;
}

Grouped grouped(Device& gpu, const Column& keys) {
  const Index n = keys.count;
  Grouped groups;
  int* const rows = room_in<int>(&groups.order, gpu, n);
  int* const codes = room_in<int>(&groups.codes, gpu, n);
  std::vector<std::uint8_t> tied(static_cast<std::size_t>(n));
  radix_order(Keys({key_of(keys, false, false)}, n, kAlone), {}, rows, tied.data());
  std::vector<int> heads, offsets;
  for (Index k = 0; k < n; ++k) {
    if (!tied[static_cast<std::size_t>(k)]) {
      heads.push_back(rows[k]);
      offsets.push_back(static_cast<int>(k));
    }
    codes[rows[k] - 1] = static_cast<int>(heads.size());
  }
  offsets.push_back(static_cast<int>(n));
  groups.heads = made_of(heads, gpu);
  groups.offsets = made_of(offsets, gpu);
  return groups;
}

// --- two sorted lists ---------------------------------------------------------------------------------------------

void merged(Device&, const Column& a, const Column& b, void* to) {
  with_lists(a, b, [&](const auto& x, const auto& y) {
    arrays::merge_items(x, y, static_cast<ItemOf<std::decay_t<decltype(x)>>*>(to), kAlone);
  });
}

void merged_rows(Device&, const Column& a, const Column& b, int* to) {
  with_lists(a, b, [&](const auto& x, const auto& y) { arrays::merge_rows(x, y, to, kAlone); });
}

Made set(Device& gpu, SetOp op, bool multiset, const Column& a, const Column& b) {
  Made made;
  with_lists(a, b, [&](const auto& x, const auto& y) {
    using Item = ItemOf<std::decay_t<decltype(x)>>;
    const auto listed = [](const auto& found) {
      std::vector<Item> list(static_cast<std::size_t>(found.count()));
      found.write(list.data(), kAlone);
      return list;
    };
    const auto sorted = [](const std::vector<Item>& list) {
      return Sorted<Item>(list.data(), static_cast<Index>(list.size()));
    };
    if (multiset) {
      made = made_of(listed(arrays::set_of(op, x, y, kAlone)), gpu);
      return;
    }
    const std::vector<Item> p = listed(distinct(x, kAlone)), q = listed(distinct(y, kAlone));
    made = made_of(listed(arrays::set_of(op, sorted(p), sorted(q), kAlone)), gpu);
  });
  return made;
}

void passed(Device&, const Column& needles, const Column& list, bool equal_too, int none, const Places& of_needles,
            const Places& of_list) {
  with_lists(needles, list, [&](const auto& a, const auto& b) {
    const Found<int> own{of_needles.at, of_needles.matched}, other{of_list.at, of_list.matched};
    if (own.matched) std::fill_n(own.matched, a.length, 0);
    if (equal_too) pass_through(b, a, other, own, kAlone);
    else pass_through(a, b, own, other, kAlone);
    std::fill(own.at + a.known, own.at + a.length, none);
  });
}

void searched(Device&, const Column& needles, const Column& list, bool equal_too, int none, int* at) {
  with_lists(needles, list, [&](const auto& a, const auto& b) {
    arrays::search_each(a.items, a.length, b, equal_too, none, at, kAlone);
  });
}

Pairs joined(Device& gpu, const JoinOf& task, int none) {
  const Index n = task.x.count + task.y.count;
  Pairs pairs;
  const auto join = [&](const auto* x, const auto* y) {
    std::vector<std::decay_t<decltype(*x)>> both(x, x + task.x.count);
    both.insert(both.end(), y, y + task.y.count);
    Column keys;
    if constexpr (std::is_same_v<decltype(x), const int*>) keys.integers = both.data();
    else keys.doubles = both.data();
    const JoinTask rows{task.x.count, task.keep_x, task.keep_y, task.missing_match, kAlone};
    const Joined<std::int32_t> found(Keys({key_of(keys, false, true)}, n, kAlone), rows);
    pairs.count = found.pairs();
    int* const of_x = room_in<int>(&pairs.x, gpu, pairs.count);
    found.write(of_x, room_in<int>(&pairs.y, gpu, pairs.count), none);
  };
  if (task.x.integers) join(task.x.integers, task.y.integers);
  else join(task.x.doubles, task.y.doubles);
  return pairs;
}

// --- index_add ----------------------------------------------------------------------------------------------------

std::vector<std::int32_t> index_of(const AddTask& task) {
  std::vector<std::int32_t> index(static_cast<std::size_t>(task.count));
  for (Index k = 0; k < task.count; ++k) {
    if (task.sorted_keys) index[static_cast<std::size_t>(task.order[k] - 1)] = task.sorted_keys[k];
    else index[static_cast<std::size_t>(k)] = task.index[k];
  }
  return index;
}

IndexAdd as_asked(const AddTask& task) { return {task.shape, task.steps, task.op, true, kAlone}; }

void added_doubles(Device&, const AddTask& task, const double* source, double* array) {
  const auto numbers = index_of(task);
  const Indices<std::int32_t> index{numbers.data(), task.count};
  if (task.shape.slice() == 0) return;
  if (task.mean) index_mean<std::int32_t>(as_asked(task), index, nullptr, task.include, task.alpha, source, array);
  else index_add<std::int32_t>(as_asked(task), index, nullptr, task.alpha, source, array);
}

bool added_integers(Device&, const AddTask& task, const int* source, int* array) {
  const auto numbers = index_of(task);
  const Indices<std::int32_t> index{numbers.data(), task.count};
  return task.shape.slice() > 0 &&
         index_add<std::int32_t>(as_asked(task), index, nullptr, static_cast<int>(task.alpha), source, array);
}

void sorted_index(Device&, const int* index, Index count, Index, int* keys, int* order) {
  std::iota(order, order + count, 1);
  std::stable_sort(order, order + count, [&](int a, int b) { return index[a - 1] < index[b - 1]; });
  std::transform(order, order + count, keys, [&](int row) { return index[row - 1]; });
}

// Tells whether the device is of the driver in tests, which the report lists with "none".
bool ready(Device& gpu) {
  const auto devices = device::report().devices;
  const auto number = static_cast<std::size_t>(gpu.number());
  return number < devices.size() && devices[number].find(": none,") != std::string::npos;
}

}  // namespace

const Verbs* compiled_verbs() {
  static const Verbs verbs{reduce_columns, reduce_columns, scan_columns,   not_whole,    unsorted,   as_integers,
                           as_doubles,     add_up,         narrowed,       taken,        removed,    inserted,
                           expanded,       walked,         moved,          rising,       order,      sorted,
                           grouped,        merged,         merged_rows,    set,          passed,     searched,
                           joined,         added_doubles,  added_integers, sorted_index, copy_bytes, ready};
  return &verbs;
}

}  // namespace kernweave::arrays::cuda
