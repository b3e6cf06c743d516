// Short list of a lane among many: the K smallest terms, ascending; a vector's worth of comparisons and moves at a
// time. The place of a term is counted, not searched for: the processor mispredicts the end of a loop that stops at the
// place.
#pragma once
#include "../lane.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace red {

// The numbers 0, 1, ..., more of them than a short list has places.
template <class T>
struct Places64 {
  T at[64] = {};
  KW_FN constexpr Places64() {
    for (int p = 0; p < 64; ++p) at[p] = static_cast<T>(p);
  }
};
template <class T>
constexpr Places64<T> kPlaces64{};

// A single lane finds the places of its terms by a loop.
template <class L, bool kMany = (L::kLanes > 1)>
struct ShortList {
  KW_FN static constexpr int stride(int k) { return k; }
};

// The list in memory that has room for `stride` places, and is preceded by memory that may be read.
template <class L>
struct ShortList<L, true> {
  using Number = typename L::Number;
  using Place = typename L::Place;
  using Moved = typename L::OfPlaces;  // lanes as wide as row numbers

  Number* value;
  Place* row;
  int places;

  KW_FN static constexpr int stride(int k) { return (k + L::kLanes - 1) & -L::kLanes; }

  // Takes a term that is known to come before the last place. Ties go by row number; empty places have row number 0.
  KW_FN void take(Number v, Place r) const {
    int p = less_than(v);
    while (value[p] == v && row[p] != 0 && row[p] < r) ++p;
    make_room<L>(value, p);
    make_room<Moved>(reinterpret_cast<typename Moved::Number*>(row), p);
    value[p] = v;
    row[p] = r;
  }

 private:
  KW_FN int less_than(Number v) const {
    const L all = L::all(v);
    int count = 0;
    for (int p = 0; p < places; p += L::kLanes)
      count += __builtin_ctz(~bits_of(L::load(value + p) < all));
    return count;
  }
  // Moves the items from a place on to the next place.
  template <class M>
  KW_FN void make_room(typename M::Number* list, int place) const {
    const M from(static_cast<double>(place));
    for (int p = (places - 1) & -M::kLanes; p >= 0; p -= M::kLanes)
      select(M::load(kPlaces64<typename M::Number>.at + p) < from, M::load(list + p), M::load(list + p - 1))
          .store(list + p);
  }
};

}  // namespace red
}  // inline namespace KW_ISA
}  // namespace kernweave
