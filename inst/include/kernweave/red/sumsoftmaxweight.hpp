// SumSoftMaxWeight: sums of exponentials, weighted and not, relative to a scale near the largest exponent.
#pragma once
#include "../exponents.hpp"
#include "state.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace red {

template <class L>
struct SumSoftMaxWeight : StateDefaults {
  static constexpr bool kAdds = true, kShort = true, kExponents = true;
  struct Sums {
    L total;  // sum of w 2^(x log2 e - top)
    L norm;   // sum of 2^(x log2 e - top)
  };
  Scale<L> scale;
  Sums sums;

  KW_FN void init(void*, int) {
    scale.init();
    restart();
  }
  KW_FN void step(L value, L weight, typename L::Indices, typename L::Mask valid) {
    take(select(valid, value * kLog2OfE, -infinity<L>()), select(valid, weight, L(0.0)), select(valid, L(1.0), L(0.0)));
  }

  KW_FN static void add(L share, L weight, Sums* to) {
    to->total = to->total + weight * share;
    to->norm = to->norm + share;
  }
  KW_FN typename L::Mask plain(const Sums& found) const {
    return scale.fits(found.norm) && abs(found.total) < infinity<L>();
  }
  KW_FN static L scale_for(L value, L) { return value; }
  KW_FN void lift(L value) { shrink(scale.lift(value)); }
  KW_FN void expect(const Sums& found) { scale.expect(found.norm); }

  // The scale stays: later terms are most likely below it.
  KW_FN void restart() {
    sums.total = L(0.0);
    sums.norm = L(0.0);
  }

  template <class M>
  KW_FN void merge(const SumSoftMaxWeight<M>& later, int lane) {
    take(from_lane<L>(later.scale.top, lane), from_lane<L>(later.sums.total, lane),
         from_lane<L>(later.sums.norm, lane));
  }
  KW_FN void finish(L* values, Index*) const { values[0] = sums.total / sums.norm; }

 private:
  // A sum of no terms is ignored, whatever its scale. NaN always counts.
  KW_FN void take(L exponent, L weighted, L count) {
    const typename L::Mask speaks = differs(count, L(0.0)) || is_nan(count) || is_nan(exponent);
    shrink(scale.raise(exponent, speaks));
    const L theirs = scale.ratio(exponent);
    sums.total = sums.total + select(speaks, weighted * theirs, L(0.0));
    sums.norm = sums.norm + select(speaks, count * theirs, L(0.0));
    expect(sums);
  }
  KW_FN void shrink(L factor) {
    sums.total = sums.total * factor;
    sums.norm = sums.norm * factor;
  }
};

}  // namespace red
}  // inline namespace KW_ISA
}  // namespace kernweave
