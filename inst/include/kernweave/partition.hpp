// Cuts work on sorted lists into parts with equally many items: the even split, the merge path, the load-balancing walk
// and the balanced path. Knows no kind of item; threads of a CPU and blocks of a GPU call it.
//
// A list is any object whose items are `list[k]`, k from 0. A cut is given by its *diagonal*: the number of items of
// all lists together that come before the cut.
#pragma once
#include "lane.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace partition {

// The list 0, 1, 2, ...
struct Counting {
  KW_FN constexpr Index operator[](Index k) const { return k; }
};

struct Less {
  template <class T, class U>
  KW_FN constexpr bool operator()(const T& a, const U& b) const {
    return a < b;
  }
};

// Returns the first item of part number `part` of an even split; part number `parts` begins at the end.
KW_FN constexpr Index even_split(Index items, Index parts, Index part) {
  const Index more = items % parts;
  return part * (items / parts) + (part < more ? part : more);
}

// Counts the items of a sorted list before `last` that come before the key; counts all items before `first`.
template <class List, class Key, class Before = Less>
KW_FN constexpr Index lower_bound(const List& list, Index first, Index last, const Key& key, Before before = {}) {
  while (first < last) {
    const Index middle = first + (last - first) / 2;
    if (before(list[middle], key)) first = middle + 1;
    else last = middle;
  }
  return first;
}

// Counts as lower_bound() does, but includes items equal to the key.
template <class List, class Key, class Before = Less>
KW_FN constexpr Index upper_bound(const List& list, Index first, Index last, const Key& key, Before before = {}) {
  while (first < last) {
    const Index middle = first + (last - first) / 2;
    if (before(key, list[middle])) last = middle;
    else first = middle + 1;
  }
  return first;
}

// Counts the items of `a` among the first `diagonal` items of two merged lists. Equal items of `a` come before equal
// items of `b`.
template <class A, class B, class Before = Less>
KW_FN constexpr Index merge_path(const A& a, Index a_count, const B& b, Index b_count, Index diagonal,
                                 Before before = {}) {
  Index first = diagonal > b_count ? diagonal - b_count : 0, last = diagonal < a_count ? diagonal : a_count;
  while (first < last) {
    const Index middle = first + (last - first) / 2;
    if (before(b[diagonal - 1 - middle], a[middle])) last = middle;
    else first = middle + 1;
  }
  return first;
}

// A place in a sequence of objects with items: the first object that has not ended, and the first item that has not
// come. `ends[k]` is the number of items up to the end of object k.
struct Place {
  Index object, item;
};

// Returns the object that an item belongs to; objects without items have none.
template <class Ends>
KW_FN constexpr Index object_of(const Ends& ends, Index objects, Index item) {
  return upper_bound(ends, 0, objects, item);
}

// Returns the place at which `diagonal` items and ends of objects have come.
template <class Ends>
KW_FN constexpr Place walk_to(const Ends& ends, Index objects, Index items, Index diagonal) {
  const Index object = merge_path(ends, objects, Counting(), items, diagonal);
  return {object, diagonal - object};
}

// Goes from a place to a later one: calls item(object, item) for all items, end(object) at the end of each object.
template <class Ends, class Item, class End>
KW_FN constexpr void walk(const Ends& ends, Place from, Place to, Item item, End end) {
  while (from.object < to.object || from.item < to.item) {
    const Index last = from.object < to.object ? static_cast<Index>(ends[from.object]) : to.item;
    while (from.item < last) item(from.object, from.item++);
    if (from.object < to.object) end(from.object++);
  }
}

// A cut of two lists.
struct Cut {
  Index a, b;
};

// Counts the items from `first` on that are not greater than the key, up to `most`.
template <class List, class Key, class Before>
KW_FN constexpr Index run_length(const List& list, Index first, Index count, const Key& key, Index most,
                                 Before before) {
  return upper_bound(list, first, first + most < count ? first + most : count, key, before) - first;
}

// Returns the merge path of lists whose equal items are paired by rank, the first of `a` with the first of `b`, before
// the rest of the longer run. No pair is cut: if the diagonal would cut one, the part before it has one item more.
template <class A, class B, class Before = Less>
KW_FN constexpr Cut balanced_path(const A& a, Index a_count, const B& b, Index b_count, Index diagonal,
                                  Before before = {}) {
  const Index path = merge_path(a, a_count, b, b_count, diagonal, before);
  const Cut cut{path, diagonal - path};
  if (cut.a == a_count && cut.b == b_count) return cut;
  const bool from_b = cut.a == a_count || (cut.b < b_count && before(b[cut.b], a[cut.a]));
  const auto key = from_b ? b[cut.b] : a[cut.a];
  const Cut start{lower_bound(a, 0, cut.a, key, before), lower_bound(b, 0, cut.b, key, before)};
  // For a run's length, look at as many items as the diagonal gives, and one more in case a pair must be completed.
  const Index taken = (cut.a - start.a) + (cut.b - start.b);
  const Index a_run = run_length(a, start.a, a_count, key, taken + 1, before);
  const Index b_run = run_length(b, start.b, b_count, key, taken + 1, before);
  const Index pairs = a_run < b_run ? a_run : b_run;
  if (taken < 2 * pairs) return {start.a + (taken + 1) / 2, start.b + (taken + 1) / 2};
  return a_run > b_run ? Cut{start.a + taken - pairs, start.b + pairs} : Cut{start.a + pairs, start.b + taken - pairs};
}

}  // namespace partition
}  // inline namespace KW_ISA
}  // namespace kernweave
