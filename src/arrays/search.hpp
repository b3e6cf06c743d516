// Finds where items would stand in a sorted list: one way through both lists if both are sorted, else one search each.
#pragma once
#include <algorithm>
#include <cstdint>

#include "arrays/sorted.hpp"

namespace kernweave::arrays {

// The result of a search for one list: how many items of the other list come before each item, and whether the other
// list has an equal item.
template <class Number>
struct Found {
  Number* at = nullptr;
  int* matched = nullptr;
};

// Takes the items of both lists in order, those of `a` before equal ones of `b`, and tells of each where it stands in
// the other list. No step depends on a guess of which list comes next.
template <class Item, class Number>
void pass_through(const Sorted<Item>& a, const Sorted<Item>& b, Found<Number> of_a, Found<Number> of_b,
                  const Workers& workers) {
  each_cut(workers, merge_cuts(a, b), [&](Index, partition::Cut from, partition::Cut end) {
    Index i = from.a, j = from.b;
    while (i < end.a && j < end.b) {
      const bool less = b.items[j] < a.items[i];
      if (of_a.at) of_a.at[i] = static_cast<Number>(j);
      if (of_b.at) of_b.at[j] = static_cast<Number>(i);
      i += !less;
      j += less;
    }
    for (; of_a.at && i < end.a; ++i) of_a.at[i] = static_cast<Number>(j);
    for (; of_b.at && j < end.b; ++j) of_b.at[j] = static_cast<Number>(i);
    if (!of_a.matched) return;
    for (i = from.a; i < end.a; ++i) {
      const Index next = static_cast<Index>(of_a.at[i]);
      of_a.matched[i] = next < b.known && b.items[next] == a.items[i];
    }
    for (j = from.b; j < end.b; ++j) {
      const Index next = static_cast<Index>(of_b.at[j]);
      of_b.matched[j] = next > 0 && a.items[next - 1] == b.items[j];
    }
  });
}

// How many items of the list are less than each of `items`, or, with `equal_too`, not greater; those that are missing
// get `none`.
template <class Item, class Number>
void search_each(const Item* items, Index length, const Sorted<Item>& list, bool equal_too, Number none, Number* at,
                 const Workers& workers) {
  each_piece(workers, length, [&](Index, Index first, Index last) {
    for (Index k = first; k < last; ++k) {
      const Item item = items[k];
      const Item* from = list.items;
      for (Index left = list.known; left > 0;) {
        const Index half = (left + 1) / 2;
        const bool before = equal_too ? from[half - 1] <= item : from[half - 1] < item;
        from += before ? half : 0;
        left = before ? left - half : half - 1;
      }
      at[k] = is_missing(item) ? none : static_cast<Number>(from - list.items);
    }
  });
}

}  // namespace kernweave::arrays
