// Verbs of numbers and of sorted lists on the CPU, by the types of their items.
#include "arrays/host_verbs.hpp"

#include <cmath>
#include <cstring>

#include "arrays/keys.hpp"

namespace kernweave::arrays {
namespace {

constexpr int kMissingInt = std::numeric_limits<int>::min();

// Calls work(a, b) with two sorted lists of one type.
template <class Work>
auto with_lists(const Column& a, const Column& b, Work work) {
  return with_items(a, [&](auto items) {
    using Item = std::remove_const_t<std::remove_pointer_t<decltype(items)>>;
    const auto sorted = [](const Column& list) {
      return with_items(list, [&](auto own) { return Sorted<Item>(reinterpret_cast<const Item*>(own), list.count); });
    };
    return work(sorted(a), sorted(b));
  });
}

template <class List>
using ItemOf = std::remove_const_t<std::remove_pointer_t<decltype(List::items)>>;

}  // namespace

// --- numbers -------------------------------------------------------------------------------------------------------

Index HostVerbs::first_not_whole(const Whole& numbers, double least, double most) const {
  constexpr double kLargest = 0x1p53;
  if (const int* const from = numbers.integers) {
    const int low = static_cast<int>(std::max(std::ceil(least), kMissingInt + 1.0));
    const int high = static_cast<int>(std::min(std::floor(most), static_cast<double>(kMostInt)));
    return first_that(numbers.count, workers_, [=](Index k) { return from[k] < low || from[k] > high; });
  }
  return first_that(numbers.count, workers_, [=, from = numbers.doubles](Index k) {
    const double v = from[k];
    return !(v >= least && v <= most && v <= kLargest && v == std::trunc(v));
  });
}

Index HostVerbs::first_unsorted(const Column& items, bool strictly) const {
  return with_items(items, [&](auto from) {
    const auto fits = [=](Index k) { return in_order(from[k], from[k + 1]); };
    const auto before = [=](Index k) { return !fits(k) || in_order(from[k + 1], from[k]); };
    const Index pairs = std::max<Index>(items.count - 1, 0);
    const Index at = strictly ? first_that(pairs, workers_, before)
                              : first_that(pairs, workers_, [=](Index k) { return !fits(k); });
    return at == 0 ? 0 : at + 1;
  });
}

bool HostVerbs::ends_missing(const Column& items) const {
  return items.count > 0 && with_items(items, [&](auto from) { return is_missing(from[items.count - 1]); });
}

bool HostVerbs::to_integers(const double* from, Index count, const Numbers& to) const {
  bool overflow = false;
  for (Index k = 0; k < count; ++k) {
    const bool fits = std::abs(from[k]) <= std::numeric_limits<int>::max();
    to.integers[k] = fits ? static_cast<int>(from[k]) : to.missing;
    overflow = overflow || (!fits && from[k] == from[k]);
  }
  return overflow;
}

void HostVerbs::to_doubles(const int* from, Index count, const Numbers& to) const {
  std::transform(from, from + count, to.doubles, [&](int v) { return v == to.missing ? to.not_available : v; });
}

void HostVerbs::copy(const void* from, Index bytes, void* to) const {
  each_piece(workers_, (bytes + 7) / 8, [&](Index, Index first, Index last) {
    std::memcpy(static_cast<char*>(to) + 8 * first, static_cast<const char*>(from) + 8 * first,
                static_cast<std::size_t>(std::min(8 * last, bytes) - 8 * first));
  });
}

Index HostVerbs::offsets(const Whole& counts, Results& made) const {
  Index total = 0;
  with_array(counts, [&](auto values) {
    total = total_of(values, counts.count, workers_);
    with_room(made.numbers("offsets", total, counts.count + 1),
              [&](auto to, auto) { write_offsets(values, counts.count, to, workers_); });
  });
  return total;
}

// --- two sorted lists ----------------------------------------------------------------------------------------------

void HostVerbs::merge(const Column& a, const Column& b, void* to) const {
  with_lists(a, b, [&](const auto& x, const auto& y) {
    merge_items(x, y, static_cast<ItemOf<std::decay_t<decltype(x)>>*>(to), workers_);
  });
}

void HostVerbs::merge_rows(const Column& a, const Column& b, const Numbers& to) const {
  with_lists(a, b, [&](const auto& x, const auto& y) {
    with_room(to, [&](auto rows, auto) { arrays::merge_rows(x, y, rows, workers_); });
  });
}

namespace {

// The end of a set: NA and NaN are two keys, each as often as the operation keeps it.
template <class Item>
struct Tail {
  Index na = 0, nan = 0;

  Tail(const Sorted<Item>& list, bool multiset) {
    for (const Item* item = list.end(); item < list.items + list.length; ++item) ++(is_nan(item) ? nan : na);
    if (!multiset) na = na > 0, nan = nan > 0;
  }
  Tail(SetOp op, const Tail& a, const Tail& b) : na(kept(op, a.na, b.na)), nan(kept(op, a.nan, b.nan)) {}

  static bool is_nan(const Item* item) {
    if constexpr (std::numeric_limits<Item>::is_integer) return false;
    else return Reader<KeyType::float64>{item}.nan(0);
  }
  void write(const SetOf& task, Item* to) const {
    if constexpr (std::numeric_limits<Item>::is_integer) std::fill_n(to, na, std::numeric_limits<Item>::min());
    else std::fill_n(std::fill_n(to, na, task.not_available), nan, task.nan);
  }
};

template <class Item>
void write_set(const SetOf& task, const Sorted<Item>& a, const Sorted<Item>& b, const Tail<Item>& tail,
               const Workers& workers, Results& made) {
  const auto found = set_of(task.op, a, b, workers);
  Item* const to = static_cast<Item*>(made.items(found.count() + tail.na + tail.nan));
  found.write(to, workers);
  tail.write(task, to + found.count());
}

template <class Item>
Buffer<Item> distinct_items(const Sorted<Item>& list, const Workers& workers, Index* count) {
  const auto found = distinct(list, workers);
  Buffer<Item> items(*count = found.count());
  found.write(items.get(), workers);
  return items;
}

}  // namespace

void HostVerbs::set(const SetOf& task, Results& made) const {
  with_lists(task.a, task.b, [&](const auto& x, const auto& y) {
    using List = std::decay_t<decltype(x)>;
    using End = Tail<ItemOf<List>>;
    const End tail(task.op, End(x, task.multiset), End(y, task.multiset));
    if (task.multiset) return write_set(task, x, y, tail, workers_, made);
    Index in_x, in_y;
    const auto once_x = distinct_items(x, workers_, &in_x), once_y = distinct_items(y, workers_, &in_y);
    write_set(task, List(once_x.get(), in_x), List(once_y.get(), in_y), tail, workers_, made);
  });
}

void HostVerbs::search(const Search& task, const Numbers& at) const {
  if (task.sorted) return search_both(task, {at, nullptr}, {});
  with_lists(task.needles, task.list, [&](const auto& a, const auto& b) {
    with_room(at, [&](auto to, auto none) {
      arrays::search_each(a.items, a.length, b, task.equal_too, none, to, workers_);
    });
  });
}

void HostVerbs::search_both(const Search& task, const Found& of_needles, const Found& of_list) const {
  with_lists(task.needles, task.list, [&](const auto& a, const auto& b) {
    with_room(of_needles.at, [&](auto at, auto none) {
      using Number = std::decay_t<decltype(*at)>;
      const FoundBy<Number> own{at, of_needles.matched};
      FoundBy<Number> other{nullptr, of_list.matched};
      with_room(of_list.at, [&](auto to, auto) { other.at = reinterpret_cast<Number*>(to); });
      if (task.equal_too) pass_through(b, a, other, own, workers_);
      else pass_through(a, b, own, other, workers_);
      std::fill(at + a.known, at + a.length, none);
      if (own.matched) std::fill(own.matched + a.known, own.matched + a.length, 0);
      if (other.matched) std::fill(other.matched + b.known, other.matched + b.length, 0);
    });
  });
}

}  // namespace kernweave::arrays
