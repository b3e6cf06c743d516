// SumSoftMaxWeight: sums of exponentials relative to the largest exponent so far, weighted and not.
#pragma once
#include "../lane.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace red {

template <class L>
struct SumSoftMaxWeight {
  static constexpr bool kAdds = true, kShort = true, kExponents = true;
  L top;      // -Inf until a term has come
  L total;    // sum of w exp(x - top)
  L norm;     // sum of exp(x - top)
  L ceiling;  // a little above the top where that is finite, else NaN: what is at most this is plain

  static constexpr double kAbove = 3;  // as in LogSumExp

  KW_FN static constexpr long long storage(int) { return 0; }
  KW_FN void init(void*, int) {
    top = -infinity<L>();
    ceiling = nan<L>();
    restart();
  }
  KW_FN void step(L value, L weight, typename L::Indices, typename L::Mask valid) {
    take(select(valid, value, -infinity<L>()), select(valid, weight, L(0.0)), select(valid, L(1.0), L(0.0)));
  }
  KW_FN typename L::Mask plain(L value) const { return value <= ceiling; }
  KW_FN static L less_plain(L value, L other) { return greater(value, other); }
  KW_FN void step_plain(L value, L weight) {
    const L share = exp2((value - top) * 1.4426950408889634);
    total = total + weight * share;
    norm = norm + share;
  }

  // A new scale without a term.
  KW_FN static L scale(L value, L) { return value; }
  KW_FN void lift(L value) {
    const typename L::Mask higher = top < value && value < infinity<L>();
    const L shrink = select(higher, exp2((top - select(higher, value, top)) * 1.4426950408889634), L(1.0));
    top = select(higher, value, top);
    ceiling = select(higher, value + kAbove, ceiling);
    total = total * shrink;
    norm = norm * shrink;
  }

  // The scale stays: what is to come is most likely below it.
  KW_FN void restart() {
    total = L(0.0);
    norm = L(0.0);
  }

  template <class M>
  KW_FN void merge(const SumSoftMaxWeight<M>& later, int lane) {
    take(from_lane<L>(later.top, lane), from_lane<L>(later.total, lane), from_lane<L>(later.norm, lane));
  }
  KW_FN void finish(L* values, Index*) const { values[0] = total / norm; }

 private:
  // As in LogSumExp: exp(-Inf - -Inf) = 0, and infinite exponents count alike.
  KW_FN static L ratio(L a, L b) {
    const L inf = infinity<L>();
    return select(a == b, select(a == -inf, L(0.0), L(1.0)), exp(a - b));
  }
  // A sum of no terms says nothing, whatever its scale. NaN always says something.
  KW_FN void take(L value, L weighted, L count) {
    const L inf = infinity<L>();
    const typename L::Mask speaks = differs(count, L(0.0)) || is_nan(count) || is_nan(value);
    const L before = top;
    top = select(speaks && (before < value || is_nan(value)), value, before);
    ceiling = select(-inf < top && top < inf, top + kAbove, nan<L>());
    const L mine = ratio(before, top), theirs = ratio(value, top);
    total = total * mine + select(speaks, weighted * theirs, L(0.0));
    norm = norm * mine + select(speaks, count * theirs, L(0.0));
  }
};

}  // namespace red
}  // inline namespace KW_ISA
}  // namespace kernweave
