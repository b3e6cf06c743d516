// Long list: the K smallest terms as a heap with the last term in front, and a waiting room behind the heap. A term
// enters in log K moves, while an ascending list would move half of its places; the room lets many terms enter while
// the heap is in cache.
#pragma once
#include "../lane.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace red {

// Order of terms: by value, ties by row number.
template <class Number, class Place>
struct Heap {
  Number* value;
  Place* row;
  int count;

  KW_FN bool behind(int p, Number v, Place r) const { return v < value[p] || (v == value[p] && r < row[p]); }
  // Puts a term into the hole or below it, so that no term comes later in the order than the term above it.
  KW_FN void put(int hole, Number v, Place r) {
    for (int child = 2 * hole + 1; child < count; child = 2 * hole + 1) {
      if (child + 1 < count && behind(child + 1, value[child], row[child])) ++child;
      if (!behind(child, v, r)) break;
      value[hole] = value[child];
      row[hole] = row[child];
      hole = child;
    }
    value[hole] = v;
    row[hole] = r;
  }
  KW_FN void make() {
    for (int p = count / 2 - 1; p >= 0; --p) put(p, value[p], row[p]);
  }
  // Sorts in ascending order: the last term goes to the end, place by place. After this, there is no heap any more.
  KW_FN void sort() {
    while (--count > 0) {
      const Number v = value[count];
      const Place r = row[count];
      value[count] = value[0];
      row[count] = row[0];
      put(0, v, r);
    }
  }
};

template <class Number, class Place>
struct LongList {
  Number* value;  // the heap, once there are K terms, then the waiting terms
  Place* row;
  Place* filled;  // the number of terms in both
  int places;     // K

  KW_FN static constexpr int capacity(int k) { return k + k / 4; }

  KW_FN bool full() const { return *filled >= places; }
  KW_FN Heap<Number, Place> heap() const { return {value, row, places}; }

  KW_FN void take(Number v, Place r) const {
    if (full() && !heap().behind(0, v, r)) return;
    value[*filled] = v;
    row[*filled] = r;
    ++*filled;
    if (*filled == places) heap().make();
    else if (*filled == capacity(places)) let_in();
  }
  // Moves waiting terms into the heap, or drops them.
  KW_FN void let_in() const {
    if (!full()) return;
    for (int p = places; p < *filled; ++p)
      if (heap().behind(0, value[p], row[p])) heap().put(0, value[p], row[p]);
    *filled = places;
  }
};

}  // namespace red
}  // inline namespace KW_ISA
}  // namespace kernweave
