// MinArgMin: the smallest value so far and its row number. NaN never wins.
#pragma once
#include "state.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace red {

template <class L>
struct MinArgMin : StateDefaults, TermOrder<L> {
  using Number = typename L::Number;
  static constexpr bool kShort = true, kPicks = true;
  static constexpr Matters kMatters = Matters::least;

  L least;
  L bound;                   // the least, NaN until there is one: no value of at least this can win
  L nan_seen;                // NaN if a NaN has come, else 0
  typename L::Places where;  // 0 while no term, or only NaN, has come

  KW_FN void init(void*, int) {
    least = infinity<L>();
    bound = nan<L>();
    nan_seen = L(0.0);
    where = typename L::Places{};
  }
  KW_FN void step(L value, L, typename L::Indices index, typename L::Mask valid) {
    each_lane(valid && !(bound < value),
              [&](int l) { step_lane(l, lane(value, l), static_cast<typename L::Place>(lane(index, l))); });
  }
  KW_FN void step_lane(int lane, Number value, typename L::Place index) {
    if (!(value == value)) set_lane(&nan_seen, lane, value);
    take(lane, value, this->called(index));
  }
  KW_FN bool picks() const { return this->in_order(); }
  // Inf is not less than the Inf with which `least` begins.
  KW_FN bool picked(L value) const { return !any(is_nan(bound) && !(value < infinity<L>())); }
  KW_FN void keep(L value, typename L::Places place) {
    where = select(value < least, place, where);
    least = value;
    bound = value;
  }
  KW_FN typename L::Mask plain(L value) const { return bound <= value; }
  KW_FN L limit() const { return bound; }
  KW_FN static L less_plain(L value, L other) { return lesser(value, other); }
  // For use as a list: this is the shortest list.
  KW_FN L middle() const { return least; }
  KW_FN void step_next(L value, L weight, typename L::Indices index) {
    step(value, weight, index, typename L::Mask(true));
  }

  template <class M>
  KW_FN void merge(const MinArgMin<M>& later, int k) {
    const L nan_later = from_lane<L>(later.nan_seen, k);
    nan_seen = select(is_nan(nan_later), nan_later, nan_seen);
    if (lane(later.where, k) != 0)
      take(0, lane(from_lane<L>(later.least, k), 0), static_cast<typename L::Place>(lane(later.where, k)));
  }
  KW_FN void finish(L* values, Index* indices) const {
    indices[0] = lane(where, 0);
    values[0] = indices[0] == 0 && any(is_nan(nan_seen)) ? nan_seen : least;
  }

 private:
  // NaN is neither less than the least nor equal to it, but it must not come first either.
  KW_FN void take(int k, Number value, typename L::Place index) {
    const Number now = lane(least, k);
    const bool first = lane(where, k) == 0 && value == value;
    if (!first && !(value < now) && !(value == now && index < lane(where, k))) return;
    set_lane(&least, k, value);
    set_lane(&bound, k, this->shut_out(value));
    set_lane(&where, k, index);
  }
};

}  // namespace red
}  // inline namespace KW_ISA
}  // namespace kernweave
