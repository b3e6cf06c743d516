// What states share that add up exponentials: their scale is a power of 2, so that a term costs one exponential to base 2 of a
// product less a number.
#pragma once
#include "lane.hpp"

namespace kernweave {
inline namespace KW_ISA {

constexpr double kLog2OfE = 1.4426950408889634, kLnOf2 = 0.6931471805599453;
// An exponent of up to so much above the scale needs no new one: 20 times as near to overflow, and most sums have found their scale
// with the first term.
constexpr double kAboveScale = 3;

// 2^(a - b), with 2^(-Inf - -Inf) = 0: a sum without terms contributes nothing. And Inf - Inf = 0: terms of infinite weight count
// alike. NaN stays NaN.
template <class L>
KW_FN L ratio_of_scales(L a, L b) {
  return select(a == b, select(a == -infinity<L>(), L(0.0), L(1.0)), exp2(a - b));
}
// Where a product less a number is rounded once, a term meets its own scale but for what rounding took from that: beyond this scale
// that may be more than an exponent has room for (in float32; 2^62 would do in float64).
constexpr double kLargestScale = 0x1p30;
// The exponent up to which terms are plain where that of the scale's term is `value`: NaN, that is none, where the scale is too large or not
// finite.
template <class L>
KW_FN L ceiling_of(L value, L top) {
  return select(abs(top) < L(kLargestScale), value + kAboveScale, nan<L>());
}

}  // inline namespace KW_ISA
}  // namespace kernweave
