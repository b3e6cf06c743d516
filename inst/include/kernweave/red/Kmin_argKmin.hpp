// KMinArgKMin: the K smallest values so far and their row numbers: sorted or, if many, a heap. NaN never enters.
#pragma once
#include "list_bound.hpp"
#include "long_list.hpp"
#include "short_list.hpp"
#include "state.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace red {

// The memory of a list: within the state if the compiler knows its length, else (0) beside it.
template <class T, int kCount>
struct Places {
  T at[kCount];
};
template <class T>
struct Places<T, 0> {
  T* at;
};

template <class L, int kPlaces>
struct KMinArgKMinOf : StateDefaults, SampledBound<L>, TermOrder<L> {
  using Number = typename L::Number;
  static constexpr bool kShort = true, kLooks = L::kLanes > 1;
  static constexpr Matters kMatters = Matters::least;
  static_assert(kPlaces == 0 || L::kLanes == 1, "lists within a state are of one lane");

  L bound;  // values of at least this cannot enter: the last place of a full list, else the sample's bound, or NaN
  using Place = typename L::Place;
  Places<Place, kPlaces> where;   // row numbers, k places a lane; 0 in empty places
  Places<Number, kPlaces> least;  // values, ascending unless the list is long
  int asked;

  KW_FN static constexpr long long storage(int k) {
    constexpr long long kPlace = sizeof(Place), kTerm = kPlace + static_cast<long long>(sizeof(Number));
    const long long list = L::kLanes * stride(k) * kTerm + ahead(k) * kPlace;
    const long long look = SampledBound<L>::storage(k);
    return kPlaces > 0 ? 0 : list < look ? look : list;
  }
  // The array with the stricter alignment comes first.
  KW_FN void init(void* storage, int places) {
    SampledBound<L>::init(places);
    asked = places;
    bound = nan<L>();
    if constexpr (kPlaces == 0) {
      const int terms = L::kLanes * places_of_lane();
      least.at = static_cast<Number*>(storage);
      where.at = kPlaceFirst ? static_cast<Place*>(storage) : reinterpret_cast<Place*>(least.at + terms);
      where.at += ahead(places);
      if (kPlaceFirst) least.at = reinterpret_cast<Number*>(where.at + terms);
    }
    empty();
  }
  // The sample uses all memory of the list, which is still empty.
  KW_FN void look() {
    if constexpr (kPlaceFirst) this->begin(where.at - ahead(k()));
    else this->begin(least.at);
    bound = -infinity<L>();
  }
  KW_FN void end_look() {
    bound = this->end();
    empty();
  }
  KW_FN void step(L value, L, typename L::Indices index, typename L::Mask valid) {
    // If two axes are folded, a tie may come with a smaller row number, which plain() would miss.
    each_lane(valid && !(bound < value),
              [&](int l) { step_lane(l, lane(value, l), static_cast<Place>(lane(index, l))); });
  }
  KW_FN void step_lane(int lane, Number value, Place index) {
    if (value == value) take(lane, value, this->called(index));
  }
  // A full list takes in smaller values only: the earlier of equal values stays.
  KW_FN void step_next(L value, L weight, typename L::Indices index) {
    if constexpr (kPlaces > 0) {
      if (where.at[kPlaces - 1] != 0) return take_less(lane(value, 0), static_cast<Place>(lane(index, 0)));
    }
    step(value, weight, index, typename L::Mask(true));
  }
  KW_FN typename L::Mask plain(L value) const { return bound <= value; }
  KW_FN L limit() const { return bound; }
  KW_FN static L less_plain(L value, L other) { return lesser(value, other); }

  template <class M, int kOther>
  KW_FN void merge(const KMinArgKMinOf<M, kOther>& later, int lane) {
    const int first = lane * later.places_of_lane(), last = first + later.terms_of_lane(lane);
    if (kPlaces == 0 && !is_long(k()) && k() > 0 && where.at[0] == 0) return copy(later, first);
    for (int p = first; p < last; ++p)
      if (later.where.at[p] != 0)
        take(0, static_cast<Number>(later.least.at[p]), static_cast<Place>(later.where.at[p]));
  }
  KW_FN void finish(L* values, Index* indices) const {
    if (is_long(k())) long_list(0).let_in();
    const int there = terms_of_lane(0);
    for (int p = 0; p < k(); ++p) {
      values[p] = p < there ? L::of(least.at[p]) : infinity<L>();
      indices[p] = p < there ? where.at[p] : 0;
    }
    if (!is_long(k())) return;
    Heap<L, Index> sorted{values, indices, there};
    sorted.make();
    sorted.sort();
  }
  // Returns the middle of the list (of a state of one lane): half of the wanted values are at most this. Two states of
  // the same row that are merged later need no value above both their middles.
  KW_FN L middle() const {
    if (k() == 0 || is_long(k())) return infinity<L>();
    return L::of(least.at[(k() - 1) / 2]);
  }
  KW_FN int k() const { return kPlaces > 0 ? kPlaces : asked; }
  KW_FN int places_of_lane() const { return stride(k()); }
  KW_FN int terms_of_lane(int lane) const { return is_long(k()) ? static_cast<int>(filled()[lane]) : k(); }

 private:
  static constexpr bool kPlaceFirst = sizeof(Place) >= sizeof(Number);
  // The most places for which an ascending list is faster.
  static constexpr int kInserted = 32;
  KW_FN static constexpr bool is_long(int k) { return kPlaces == 0 && k > kInserted; }
  // Returns the distance from a lane's list to the next lane's list.
  KW_FN static constexpr int stride(int k) {
    return is_long(k) ? LongList<Number, Place>::capacity(k) : ShortList<L>::stride(k);
  }
  // Counts places in front of the first row number: the number of terms of a long list, or room that short lists read.
  KW_FN static constexpr int ahead(int k) { return is_long(k) || L::kLanes > 1 ? L::kLanes : 0; }
  // Returns where each lane's number of terms of a long list is, in front of the row numbers.
  KW_FN Place* filled() const {
    if constexpr (kPlaces > 0) return nullptr;
    else return where.at - L::kLanes;
  }
  KW_FN LongList<Number, Place> long_list(int lane) const {
    const int first = lane * places_of_lane();
    if constexpr (kPlaces > 0) return {};
    else return {least.at + first, where.at + first, filled() + lane, asked};
  }

  KW_FN void empty() {
    if (is_long(k())) {
      for (int l = 0; l < L::kLanes; ++l) filled()[l] = 0;
      return;
    }
    for (int p = 0; p < L::kLanes * places_of_lane(); ++p) {
      least.at[p] = lane(infinity<L>(), 0);
      where.at[p] = 0;
    }
  }
  KW_FN bool before(Number value, Place index, int p) const {
    return value < least.at[p] || where.at[p] == 0 || (value == least.at[p] && index < where.at[p]);
  }
  KW_FN void take(int lane, Number value, Place index) {
    if (is_long(k())) {
      const LongList<Number, Place> list = long_list(lane);
      list.take(value, index);
      if (list.full()) set_lane(&bound, lane, this->shut_out(*list.value));
      return;
    }
    const int first = lane * places_of_lane(), last = first + k() - 1;
    if (k() == 0 || !before(value, index, last)) return;
    if constexpr (kPlaces > 0) take_at_once(value, index);
    else if constexpr (L::kLanes > 1) ShortList<L>{least.at + first, where.at + first, k()}.take(value, index);
    else take_in_turn(first, last, value, index);
    if (where.at[last] != 0) set_lane(&bound, lane, this->shut_out(least.at[last]));
  }
  // Copies another state's whole list into an empty one.
  template <class Other>
  KW_FN void copy(const Other& other, int first) {
    for (int p = 0; p < k(); ++p) {
      least.at[p] = static_cast<Number>(other.least.at[first + p]);
      where.at[p] = static_cast<Place>(other.where.at[first + p]);
    }
    if (where.at[k() - 1] != 0) set_lane(&bound, 0, this->shut_out(least.at[k() - 1]));
  }
  // Insertion from the last place upwards. Empty places are skipped, not moved.
  KW_FN void take_in_turn(int first, int last, Number value, Place index) {
    Number* const number = least.at + first;
    Place* const place = where.at + first;
    int p = last - first;
    while (p > 0 && place[p - 1] == 0) --p;
    for (; p > 0 && !(number[p - 1] < value) && (value < number[p - 1] || index < place[p - 1]); --p) {
      number[p] = number[p - 1];
      place[p] = place[p - 1];
    }
    number[p] = value;
    place[p] = index;
  }
  KW_FN void take_less(Number value, Place index) {
    if (!(value < least.at[kPlaces - 1])) return;
    least.at[kPlaces - 1] = value;
    where.at[kPlaces - 1] = index;
    downward<kPlaces - 2>([&](auto place) {
      constexpr int p = decltype(place)();
      const bool swap = least.at[p + 1] < least.at[p];
      const Number low = least.at[p];
      const Place at = where.at[p];
      least.at[p] = swap ? least.at[p + 1] : low;
      least.at[p + 1] = swap ? low : least.at[p + 1];
      where.at[p] = swap ? where.at[p + 1] : at;
      where.at[p + 1] = swap ? at : where.at[p + 1];
    });
    bound = L::of(least.at[kPlaces - 1]);
  }
  // Insertion without branches, at places that the compiler knows, so that lists stay in registers.
  KW_FN void take_at_once(Number value, Place index) {
    downward<kPlaces - 1>([&](auto place) {
      constexpr int p = decltype(place)();
      const bool here = before(value, index, p);
      if constexpr (p == 0) {
        least.at[0] = here ? value : least.at[0];
        where.at[0] = here ? index : where.at[0];
      } else {
        const bool above = before(value, index, p - 1);
        least.at[p] = above ? least.at[p - 1] : here ? value : least.at[p];
        where.at[p] = above ? where.at[p - 1] : here ? index : where.at[p];
      }
    });
  }
};

template <class L>
using KMinArgKMin = KMinArgKMinOf<L, 0>;

}  // namespace red
}  // inline namespace KW_ISA
}  // namespace kernweave
