// LogSumExp: the largest exponent so far and the weighted sum of exponentials relative to it.
#pragma once
#include "../lane.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace red {

template <class L>
struct LogSumExp {
  static constexpr bool kAdds = true, kShort = true, kExponents = true;
  L top;      // -Inf until a term has come
  L total;    // sum of w exp(x - top)
  L ceiling;  // a little above the top where that is finite, else NaN: what is at most this is plain

  // Terms of up to e^3 times the scale: 20 times as near to overflow, and most sums have found theirs with the first term.
  static constexpr double kAbove = 3;

  KW_FN static constexpr long long storage(int) { return 0; }
  KW_FN void init(void*, int) {
    top = -infinity<L>();
    total = L(0.0);
    ceiling = nan<L>();
  }
  KW_FN void step(L value, L weight, typename L::Indices, typename L::Mask valid) {
    take(select(valid, value, -infinity<L>()), select(valid, weight, L(0.0)));
  }
  // A term that is not far above the top sets no new scale: one exponential instead of two. To base 2, whose rounding grows
  // with the exponent: by then the term is too small for it to show.
  KW_FN typename L::Mask plain(L value) const { return value <= ceiling; }
  KW_FN static L less_plain(L value, L other) { return greater(value, other); }
  KW_FN void step_plain(L value, L weight) { total = total + weight * exp2((value - top) * 1.4426950408889634); }

  // A new scale without a term. A term of weight 0 gives none.
  KW_FN static L scale(L value, L weight) { return select(differs(weight, L(0.0)), value, -infinity<L>()); }
  KW_FN void lift(L value) {
    const typename L::Mask higher = top < value && value < infinity<L>();
    const L before = top;
    top = select(higher, value, top);
    ceiling = select(higher, value + kAbove, ceiling);
    total = select(higher, total * exp2((before - top) * 1.4426950408889634), total);
  }

  // The scale stays: what is to come is most likely below it.
  KW_FN void restart() { total = L(0.0); }

  template <class M>
  KW_FN void merge(const LogSumExp<M>& later, int lane) {
    take(from_lane<L>(later.top, lane), from_lane<L>(later.total, lane));
  }
  KW_FN void finish(L* values, Index*) const { values[0] = log(total) + top; }

 private:
  // exp(a - b) with exp(-Inf - -Inf) = 0: a sum without terms contributes nothing.
  // The same for Inf - Inf = 1: terms of infinite weight count alike. NaN stays NaN.
  KW_FN static L ratio(L a, L b) {
    const L inf = infinity<L>();
    return select(a == b, select(a == -inf, L(0.0), L(1.0)), exp(a - b));
  }
  // A term of weight 0 says nothing, however large, and must not set the scale. NaN always says something,
  // and so does 0 times Inf.
  KW_FN void take(L value, L weight) {
    const L inf = infinity<L>();
    const typename L::Mask always = is_nan(weight) || is_nan(value) || value == inf;
    const typename L::Mask speaks = differs(weight, L(0.0)) || always;
    const L before = top;
    top = select(speaks && (before < value || is_nan(value)), value, before);
    ceiling = select(-inf < top && top < inf, top + kAbove, nan<L>());
    total = total * ratio(before, top) + select(speaks, weight * ratio(value, top), L(0.0));
  }
};

}  // namespace red
}  // inline namespace KW_ISA
}  // namespace kernweave
