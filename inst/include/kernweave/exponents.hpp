// The scale of a sum of exponentials. It is a power of 2, so that a term costs one multiplication with a subtraction
// and one exponential to base 2.
#pragma once
#include "lane.hpp"

namespace kernweave {
inline namespace KW_ISA {

constexpr double kLog2OfE = 1.4426950408889634, kLnOf2 = 0.6931471805599453;
// Largest scale at which terms are added without a look at them. A term's exponent is a product less the scale, rounded
// once, but the scale itself was rounded before: beyond this bound that error may be more than an exponent has room for
// (in float32; 2^62 would do in float64).
constexpr double kLargestScale = 0x1p30;
// Growth of a sum from which on its terms are looked at. Of terms that weigh alike, none is then more than 2^14 times
// the scale, and its exponent is rounded to 14 units of 2^-24 in float32. Most sums have found their scale after the
// first strip.
constexpr double kGrowth = 0x1p10;
// Largest sum that is not looked at: there must be room for a few terms at the scale beside it.
template <class Number>
constexpr double kLargestSum = sizeof(Number) == 4 ? 0x1p126 : 0x1p1022;

// 2^(a - b), with 2^(-Inf - -Inf) = 0: a sum without terms contributes nothing. And Inf - Inf = 0: terms of infinite
// weight count alike. NaN stays NaN.
template <class L>
KW_FN L ratio_of_scales(L a, L b) {
  return select(a == b, select(a == -infinity<L>(), L(0.0), L(1.0)), exp2(a - b));
}

// The scale of a sum. Terms far above it make the sum large, infinite or NaN, so that one look at the sum, after many
// terms, tells whether there was any.
template <class L>
struct Scale {
  L top;   // the scale is 2^top: -Inf until a term has come
  L most;  // largest sum while no term is far above the scale; NaN where there is no telling

  KW_FN void init() {
    top = -infinity<L>();
    most = L(0.0);
  }
  KW_FN L share(L value) const { return exp2(value * kLog2OfE - top); }
  KW_FN L ratio(L exponent) const { return ratio_of_scales(exponent, top); }
  KW_FN typename L::Mask fits(L sum) const { return abs(sum) <= most; }
  // Notes a sum whose terms have been looked at: how far it may grow from here.
  KW_FN void expect(L sum) {
    const L largest(kLargestSum<typename L::Number>),
        grown = select(abs(sum) < largest, lesser(abs(sum) * kGrowth, largest), nan<L>());
    most = select(abs(top) < L(kLargestScale), select(fits(sum), most, grown), nan<L>());
  }

  // Raises the scale to that of a higher finite exponent, to base e. Returns the factor of the sums so far.
  KW_FN L lift(L value) {
    const L wanted = value * kLog2OfE, before = top;
    const typename L::Mask higher = top < wanted && wanted < infinity<L>();
    top = select(higher, wanted, top);
    return select(higher, exp2(before - top), L(1.0));
  }
  // Raises the scale to an exponent to base 2, in the lanes where that `speaks`; it may be NaN or infinite. Returns the
  // factor of the sums so far.
  KW_FN L raise(L exponent, typename L::Mask speaks) {
    const L before = top;
    top = select(speaks && (before < exponent || is_nan(exponent)), exponent, before);
    return ratio(before);
  }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
