// Items moved: removed, inserted, repeated, copied by intervals. Bytes are moved, whatever they mean; what is moved
// from where can also be listed, for items that are no plain bytes.
#pragma once
#include <algorithm>
#include "arrays/items.hpp"
#include "arrays/sorted.hpp"

namespace kernweave::arrays {

// Items of a number of bytes, one after the other. `from` is null where the items' places are written instead, from 1:
// an int or a double each, by `bytes`; of the second of two sources, places are counted on from those of the first.
struct Source {
  const void* from;
  Index count;
};
struct Target {
  void* to;
  int bytes;
};

// All items but those at ascending places, from 1, no two equal.
void remove_items(const Source& x, const Whole& at, const Workers& workers, const Target& out);

// Items of `x`, and before its item number after[k] (from 0), value k; `after` ascends.
void insert_items(const Source& x, const Source& values, const Whole& after, const Workers& workers, const Target& out);

// Item k of `x` as often as offsets[k + 1] - offsets[k] tells.
void expand_items(const Source& x, const Whole& offsets, const Workers& workers, const Target& out);

// The place of each item among equal ones, from 1.
template <class Place>
void ranks_of(const Whole& offsets, const Workers& workers, Place* out);

// The intervals to move: as many items as the offsets tell, from place from[k] to place to[k], counted from 1. The
// intervals of an absent list lie one after the other.
struct Intervals {
  Whole from, to, offsets;
};
void move_items(const Source& x, const Intervals& intervals, const Workers& workers, const Target& out);

// --- merge ---------------------------------------------------------------------------------------------------------
// Two sorted lists as one, with equal items of the first before those of the second.

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
