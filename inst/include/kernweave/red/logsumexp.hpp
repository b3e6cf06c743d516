// LogSumExp: a scale near the largest exponent, and the weighted sum of exponentials relative to the scale.
#pragma once
#include "../exponents.hpp"
#include "state.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace red {

template <class L>
struct LogSumExp : StateDefaults {
  static constexpr bool kAdds = true, kShort = true, kExponents = true;
  struct Sums {
    L total;  // sum of w 2^(x log2 e - top)
  };
  Scale<L> scale;
  Sums sums;

  KW_FN void init(void*, int) {
    scale.init();
    restart();
  }
  KW_FN void step(L value, L weight, typename L::Indices, typename L::Mask valid) {
    take(select(valid, value * kLog2OfE, -infinity<L>()), select(valid, weight, L(0.0)));
  }

  // Fast path of a term that is not far above the scale: one exponential instead of two, no new scale.
  KW_FN static void add(L share, L weight, Sums* to) { to->total = to->total + weight * share; }
  KW_FN typename L::Mask plain(const Sums& found) const { return scale.fits(found.total); }
  // Returns the scale that suits a term; -Inf for a term of weight 0.
  KW_FN static L scale_for(L value, L weight) { return select(differs(weight, L(0.0)), value, -infinity<L>()); }
  KW_FN void lift(L value) { sums.total = sums.total * scale.lift(value); }
  KW_FN void expect(const Sums& found) { scale.expect(found.total); }

  // The scale stays: later terms are most likely below it.
  KW_FN void restart() { sums.total = L(0.0); }

  template <class M>
  KW_FN void merge(const LogSumExp<M>& later, int lane) {
    take(from_lane<L>(later.scale.top, lane), from_lane<L>(later.sums.total, lane));
  }
  KW_FN void finish(L* values, Index*) const { values[0] = log(sums.total) + scale.top * kLnOf2; }

 private:
  // A term of weight 0 is ignored, however large, and must not set the scale. NaN always counts, and so does 0 times
  // Inf.
  KW_FN void take(L exponent, L weight) {
    const typename L::Mask always = is_nan(weight) || is_nan(exponent) || exponent == infinity<L>();
    const typename L::Mask speaks = differs(weight, L(0.0)) || always;
    const L shrink = scale.raise(exponent, speaks);
    sums.total = sums.total * shrink + select(speaks, weight * scale.ratio(exponent), L(0.0));
    expect(sums);
  }
};

}  // namespace red
}  // inline namespace KW_ISA
}  // namespace kernweave
