// Two sorted lists as one, with equal items of the first before those of the second.
#pragma once
#include <algorithm>

#include "arrays/sorted.hpp"

namespace kernweave::arrays {

template <class Item>
void merge_items(const Sorted<Item>& a, const Sorted<Item>& b, Item* to, const Workers& workers) {
  each_cut(workers, merge_cuts(a, b), [&](Index, partition::Cut from, partition::Cut end) {
    std::merge(a.items + from.a, a.items + end.a, b.items + from.b, b.items + end.b, to + from.a + from.b);
  });
  std::copy(b.end(), b.items + b.length, std::copy(a.end(), a.items + a.length, to + a.known + b.known));
}

// The numbers from 1 of the merged items, those of `b` behind those of `a`.
template <class Item, class Number>
void merge_rows(const Sorted<Item>& a, const Sorted<Item>& b, Number* to, const Workers& workers) {
  const auto row_of_a = [](Index k) { return static_cast<Number>(k + 1); };
  const auto row_of_b = [&](Index k) { return static_cast<Number>(a.length + k + 1); };
  each_cut(workers, merge_cuts(a, b), [&](Index, partition::Cut from, partition::Cut end) {
    Number* next = to + from.a + from.b;
    while (from.a < end.a && from.b < end.b) {
      const bool from_b = b.items[from.b] < a.items[from.a];
      *next++ = from_b ? row_of_b(from.b) : row_of_a(from.a);
      from.a += !from_b;
      from.b += from_b;
    }
    while (from.a < end.a) *next++ = row_of_a(from.a++);
    while (from.b < end.b) *next++ = row_of_b(from.b++);
  });
  Number* next = to + a.known + b.known;
  for (Index k = a.known; k < a.length; ++k) *next++ = row_of_a(k);
  for (Index k = b.known; k < b.length; ++k) *next++ = row_of_b(k);
}

}  // namespace kernweave::arrays
