// What states share that add up exponentials: their scale is a power of 2, so that a term costs one exponential to base
// 2 of a product less a number.
#pragma once
#include "lane.hpp"

namespace kernweave {
inline namespace KW_ISA {

constexpr double kLog2OfE = 1.4426950408889634, kLnOf2 = 0.6931471805599453;
// Where a product less a number is rounded once, a term meets its own scale but for what rounding took from that:
// beyond this scale that may be more than an exponent has room for (in float32; 2^62 would do in float64).
constexpr double kLargestScale = 0x1p30;
// A sum may grow by so much before its terms are looked at. Of terms that weigh alike, one is 2^14 times the scale then
// at most, and its exponent rounded to 14 units of 2^-24 in float32; most sums have found their scale with the first
// strip.
constexpr double kGrowth = 0x1p10;
// Sums larger than this are always looked at: a few terms at the scale have room beside them.
template <class Number>
constexpr double kLargestSum = sizeof(Number) == 4 ? 0x1p126 : 0x1p1022;

// 2^(a - b), with 2^(-Inf - -Inf) = 0: a sum without terms contributes nothing. And Inf - Inf = 0: terms of infinite
// weight count alike. NaN stays NaN.
template <class L>
KW_FN L ratio_of_scales(L a, L b) {
  return select(a == b, select(a == -infinity<L>(), L(0.0), L(1.0)), exp2(a - b));
}

// The scale of a sum. Terms far above it make the sum large, infinite or NaN, which one look at the sum tells after
// many terms.
template <class L>
struct Scale {
  L top;   // the scale is 2^top: -Inf until a term has come
  L most;  // what the sum may come to while no term is far above the scale: NaN where that cannot be told

  KW_FN void init() {
    top = -infinity<L>();
    most = L(0.0);
  }
  KW_FN L share(L value) const { return exp2(value * kLog2OfE - top); }
  KW_FN L ratio(L exponent) const { return ratio_of_scales(exponent, top); }
  KW_FN typename L::Mask fits(L sum) const { return abs(sum) <= most; }
  // Of a sum whose terms have been looked at.
  KW_FN void expect(L sum) {
    const L largest(kLargestSum<typename L::Number>),
        grown = select(abs(sum) < largest, lesser(abs(sum) * kGrowth, largest), nan<L>());
    most = select(abs(top) < L(kLargestScale), select(fits(sum), most, grown), nan<L>());
  }

  // The scale of a higher exponent, to base e, that is finite. What sums change by.
  KW_FN L lift(L value) {
    const L wanted = value * kLog2OfE, before = top;
    const typename L::Mask higher = top < wanted && wanted < infinity<L>();
    top = select(higher, wanted, top);
    return select(higher, exp2(before - top), L(1.0));
  }
  // That of one to base 2, where it `speaks`; it may be NaN or infinite. What sums change by.
  KW_FN L raise(L exponent, typename L::Mask speaks) {
    const L before = top;
    top = select(speaks && (before < exponent || is_nan(exponent)), exponent, before);
    return ratio(before);
  }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
