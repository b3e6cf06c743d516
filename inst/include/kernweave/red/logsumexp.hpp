// LogSumExp: the scale of the largest exponent or so, and the weighted sum of exponentials relative to it.
#pragma once
#include "../exponents.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace red {

template <class L>
struct LogSumExp {
  static constexpr bool kAdds = true, kShort = true, kExponents = true, kLooks = false;
  L top;      // the scale is 2^top: -Inf until a term has come
  L total;    // sum of w 2^(x log2 e - top)
  L ceiling;  // a little above the scale where that is small enough, else NaN: what is at most this is plain

  KW_FN static constexpr long long storage(int) { return 0; }
  KW_FN void init(void*, int) {
    top = -infinity<L>();
    total = L(0.0);
    ceiling = nan<L>();
  }
  KW_FN void step(L value, L weight, typename L::Indices, typename L::Mask valid) {
    take(select(valid, value * kLog2OfE, -infinity<L>()), select(valid, weight, L(0.0)));
  }
  // A term that is not far above the scale sets no new one: one exponential instead of two.
  KW_FN typename L::Mask plain(L value) const { return value <= ceiling; }
  KW_FN static L less_plain(L value, L other) { return greater(value, other); }
  KW_FN void step_plain(L value, L weight) { total = total + weight * exp2(value * kLog2OfE - top); }

  // A new scale without a term. A term of weight 0 gives none.
  KW_FN static L scale(L value, L weight) { return select(differs(weight, L(0.0)), value, -infinity<L>()); }
  KW_FN void lift(L value) {
    const L wanted = value * kLog2OfE, before = top;
    const typename L::Mask higher = top < wanted && wanted < infinity<L>();
    top = select(higher, wanted, top);
    ceiling = select(higher, ceiling_of(value, top), ceiling);
    total = select(higher, total * exp2(before - top), total);
  }

  // The scale stays: what is to come is most likely below it.
  KW_FN void restart() { total = L(0.0); }

  template <class M>
  KW_FN void merge(const LogSumExp<M>& later, int lane) {
    take(from_lane<L>(later.top, lane), from_lane<L>(later.total, lane));
  }
  KW_FN void finish(L* values, Index*) const { values[0] = log(total) + top * kLnOf2; }

 private:
  // A term of weight 0 says nothing, however large, and must not set the scale. NaN always says something,
  // and so does 0 times Inf.
  KW_FN void take(L exponent, L weight) {
    const typename L::Mask always = is_nan(weight) || is_nan(exponent) || exponent == infinity<L>();
    const typename L::Mask speaks = differs(weight, L(0.0)) || always;
    const L before = top;
    top = select(speaks && (before < exponent || is_nan(exponent)), exponent, before);
    ceiling = ceiling_of(top * kLnOf2, top);
    total = total * ratio_of_scales(before, top) + select(speaks, weight * ratio_of_scales(exponent, top), L(0.0));
  }
};

}  // namespace red
}  // inline namespace KW_ISA
}  // namespace kernweave
