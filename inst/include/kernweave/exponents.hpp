// The scale of a sum of exponentials. It is a power of 2, so that a term costs one multiplication with a subtraction
// and one exponential to base 2.
#pragma once
#include "lane.hpp"

namespace kernweave {
inline namespace KW_ISA {

constexpr double kLog2OfE = 1.4426950408889634, kLnOf2 = 0.6931471805599453;
// The largest scale at which terms are added unchecked. A term's exponent is a product less the scale, rounded once,
// but the scale itself was rounded before: beyond this bound the scale's error may be more than an exponent has room
// for (in float32; 2^62 would do in float64).
constexpr double kLargestScale = 0x1p30;
// The growth of a sum above which its terms are checked. Among terms of equal weight, no term is then more than 2^14
// times the scale, and its exponent is rounded to 14 units of 2^-24 in float32. Most sums have found their scale after
// the first strip.
constexpr double kGrowth = 0x1p10;
// The largest sum that is not checked: there must be room for a few terms at the scale beside it.
template <class Number>
constexpr double kLargestSum = sizeof(Number) == 4 ? 0x1p126 : 0x1p1022;

// Returns 2^(a - b). For a = b = -Inf it is 0: a sum without terms contributes nothing. For a = b = Inf it is 1: terms
// of infinite weight count alike. NaN stays NaN.
template <class L>
KW_FN L ratio_of_scales(L a, L b) {
  return select(a == b, select(a == -infinity<L>(), L(0.0), L(1.0)), exp2(a - b));
}

// The scale of a sum. Terms far above the scale make the sum large, infinite or NaN, so that one test of the sum, after
// many terms, tells whether any term is far above the scale.
template <class L>
struct Scale {
  L top;   // the scale is 2^top: -Inf until a term has come
  L most;  // largest sum while no term is far above the scale; NaN if unknown

  KW_FN void init() {
    top = -infinity<L>();
    most = L(0.0);
  }
  KW_FN L share(L value) const { return exp2(value * kLog2OfE - top); }
  KW_FN L ratio(L exponent) const { return ratio_of_scales(exponent, top); }
  KW_FN typename L::Mask fits(L sum) const { return abs(sum) <= most; }
  // Sets how far a sum may grow from here, after its terms have been checked.
  KW_FN void expect(L sum) {
    const L largest(kLargestSum<typename L::Number>),
        grown = select(abs(sum) < largest, lesser(abs(sum) * kGrowth, largest), nan<L>());
    most = select(abs(top) < L(kLargestScale), select(fits(sum), most, grown), nan<L>());
  }

  // Raises the scale to a finite exponent to base e if that is higher. Returns the factor of the sums so far.
  KW_FN L lift(L value) {
    const L wanted = value * kLog2OfE, before = top;
    const typename L::Mask higher = top < wanted && wanted < infinity<L>();
    top = select(higher, wanted, top);
    return select(higher, exp2(before - top), L(1.0));
  }
  // Raises the scale to an exponent to base 2, which may be NaN or infinite, in the lanes in which `speaks` is true.
  // Returns the factor of the sums so far.
  KW_FN L raise(L exponent, typename L::Mask speaks) {
    const L before = top;
    top = select(speaks && (before < exponent || is_nan(exponent)), exponent, before);
    return ratio(before);
  }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
