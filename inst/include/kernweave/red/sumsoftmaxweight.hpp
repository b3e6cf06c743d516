// SumSoftMaxWeight: sums of exponentials relative to the scale of the largest or so, weighted and not.
#pragma once
#include "../exponents.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace red {

template <class L>
struct SumSoftMaxWeight {
  static constexpr bool kAdds = true, kShort = true, kExponents = true, kLooks = false;
  L top;      // the scale is 2^top: -Inf until a term has come
  L total;    // sum of w 2^(x log2 e - top)
  L norm;     // sum of 2^(x log2 e - top)
  L ceiling;  // a little above the scale where that is small enough, else NaN: what is at most this is plain

  KW_FN static constexpr long long storage(int) { return 0; }
  KW_FN void init(void*, int) {
    top = -infinity<L>();
    ceiling = nan<L>();
    restart();
  }
  KW_FN void step(L value, L weight, typename L::Indices, typename L::Mask valid) {
    take(select(valid, value * kLog2OfE, -infinity<L>()), select(valid, weight, L(0.0)), select(valid, L(1.0), L(0.0)));
  }
  KW_FN typename L::Mask plain(L value) const { return value <= ceiling; }
  KW_FN static L less_plain(L value, L other) { return greater(value, other); }
  KW_FN void step_plain(L value, L weight) {
    const L share = exp2(value * kLog2OfE - top);
    total = total + weight * share;
    norm = norm + share;
  }

  // A new scale without a term.
  KW_FN static L scale(L value, L) { return value; }
  KW_FN void lift(L value) {
    const L wanted = value * kLog2OfE;
    const typename L::Mask higher = top < wanted && wanted < infinity<L>();
    const L shrink = select(higher, exp2(top - select(higher, wanted, top)), L(1.0));
    top = select(higher, wanted, top);
    ceiling = select(higher, ceiling_of(value, top), ceiling);
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
  // A sum of no terms says nothing, whatever its scale. NaN always says something.
  KW_FN void take(L exponent, L weighted, L count) {
    const typename L::Mask speaks = differs(count, L(0.0)) || is_nan(count) || is_nan(exponent);
    const L before = top;
    top = select(speaks && (before < exponent || is_nan(exponent)), exponent, before);
    ceiling = ceiling_of(top * kLnOf2, top);
    const L mine = ratio_of_scales(before, top), theirs = ratio_of_scales(exponent, top);
    total = total * mine + select(speaks, weighted * theirs, L(0.0));
    norm = norm * mine + select(speaks, count * theirs, L(0.0));
  }
};

}  // namespace red
}  // inline namespace KW_ISA
}  // namespace kernweave
