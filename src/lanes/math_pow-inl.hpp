// Powers of packs: x^y = 2^(y log2 x), the logarithm in two numbers. Once per instruction set.
#pragma once
#include "lanes/math_exp-inl.hpp"

namespace kernweave {
inline namespace KW_ISA {

// A number as the sum of two: high has half the bits of T, so that a product of two such is exact. Where such
// a product meets a sum, joining the two into one rounding changes nothing.
template <class T>
struct Pair {
  Pack<T> high;
  Pack<T> low;
};

template <class T>
struct Halves;
template <>
struct Halves<float> {
  static constexpr std::uint32_t kHighBits = 0xfffff000;  // 12 bits of 24
  // 2 / (3 ln 2)
  static constexpr double kTwoThirdsLog2EHigh = 0x1.ec4p-1;
  static constexpr double kTwoThirdsLog2ELow = 0x1.84ee1ep-12;
};
template <>
struct Halves<double> {
  static constexpr std::uint64_t kHighBits = 0xfffffffff8000000;  // 26 bits of 53
  static constexpr double kTwoThirdsLog2EHigh = 0x1.ec709dp-1;
  static constexpr double kTwoThirdsLog2ELow = 0x1.87407fae93f83p-26;
};

template <class T>
KW_FN Pack<T> high_half(Pack<T> x) {
  return from_pattern<T>(pattern(x) & Halves<T>::kHighBits);
}

// log((1 + s) / (1 - s)) = 2/3 s (3 + z + z^2 L(z)) with z = s^2. L on [0, 0.0295]: relative error of the whole
// 2^-36 and 2^-66, minimax by Remez.
KW_FN Pack<float> pow_tail(Pack<float> z) { return polynomial(z, 0x1.33338p-1, 0x1.b67bep-2, 0x1.67b614p-2); }
KW_FN Pack<double> pow_tail(Pack<double> z) {
  return polynomial(z, 0x1.3333333333464p-1, 0x1.b6db6db683bb9p-2, 0x1.555555a210605p-2, 0x1.1745af693e5bep-2,
                    0x1.d8ae628bbc528p-3, 0x1.973fd29a38c34p-3, 0x1.956475be8c98ep-3);
}

// s = (f - 1) / (f + 1) in two.
template <class T>
KW_FN Pair<T> ratio_in_two(Pack<T> f) {
  using P = Pack<T>;
  P above = f - P(1.0);
  P inverse = P(1.0) / (f + P(1.0));
  P divisor_high = high_half(f + P(1.0));
  P divisor_low = f - (divisor_high - P(1.0));
  P high = high_half(above * inverse);
  P left = (above - high * divisor_high) - high * divisor_low;
  return {high, left * inverse};
}

// log2 x in two, by the scheme of Sun's e_pow.c (fdlibm).
template <class T>
KW_FN Pair<T> log2_in_two(Pack<T> x) {
  using P = Pack<T>;
  using Constants = Halves<T>;
  Split<P> part = split(x);
  Pair<T> s = ratio_in_two(part.fraction);
  P whole = s.high + s.low;
  P z = whole * whole;
  P tail = z * z * pow_tail(z) + s.low * (s.high + whole);
  P square = s.high * s.high;
  P factor_high = high_half((P(3.0) + square) + tail);
  P factor_low = tail - ((factor_high - P(3.0)) - square);
  P product = s.high * factor_high;
  P beside = s.low * factor_high + factor_low * whole;
  P high = high_half(product + beside);
  P low = beside - (high - product);
  P scaled = high * P(Constants::kTwoThirdsLog2EHigh);
  P scaled_low = high * P(Constants::kTwoThirdsLog2ELow) + low * P(kLog2E * 2 / 3);
  P sum = high_half((scaled + scaled_low) + part.exponent);
  return {sum, scaled_low - ((sum - part.exponent) - scaled)};
}

// 2^(y l).
template <class T>
KW_FN Pack<T> exp2_of_product(Pack<T> y, Pair<T> l) {
  using P = Pack<T>;
  using Range = PowerRange<T>;
  P y_high = high_half(y);
  P low = (y - y_high) * l.high + y * l.low;
  P product = y_high * l.high;
  P shifted = clamp(product + low, P(Range::kLowest), P(Range::kHighest)) + P(Range::kShifter);
  P r = (product - (shifted - P(Range::kShifter))) + low;
  // Out of range the sign of r is all that is asked of it.
  return exp2_near_0<true>(clamp(r, P(-1.0), P(1.0)), 2) * half_power(shifted);
}

// Sets the results that C prescribes where the base is no ordinary positive number or the exponent is not finite.
// Elsewhere the result stays as it is.
template <class T>
__attribute__((noinline)) void pow_special(const Pack<T>& x, const Pack<T>& y, Pack<T>* result) {
  using P = Pack<T>;
  const P zero = 0.0, one = 1.0, infinite = infinity<P>(), unit = Layout<T>::kUnit;
  P a = abs(x);
  P b = abs(y);
  // A sum from kUnit on is whole and its last bit says whether it is odd; from the double on none is odd.
  P raised = select(b < unit, b + unit, b);
  auto whole = unit <= b || raised - unit == b;
  auto odd = pattern(select(b < unit + unit, raised, zero)) << static_cast<int>(8 * sizeof(T) - 1);
  P sign = select(whole, from_pattern<T>(odd & sign_bit(x)), zero);
  auto grows = (one < a && zero < y) || (a < one && y < zero);
  P size = select(a == zero || a == infinite, select(grows, infinite, zero), *result);
  P real = with_sign(size, pattern(sign));
  P number = select(x < zero && a < infinite && !whole, infinite - infinite, real);
  P any_number = select(is_nan(x) || is_nan(y), x + y, number);
  *result = select(x == one || y == zero, one, any_number);
}

template <class T>
KW_FN Pack<T> pow(Pack<T> x, Pack<T> y) {
  using P = Pack<T>;
  // The logarithm next to 0 is about 1 / (2 kUnit): no larger exponent gives another result.
  P most = P(4096 * Layout<T>::kUnit);
  P result = exp2_of_product(clamp(y, -most, most), log2_in_two(abs(x)));
  auto plain = P(0.0) < x && x < infinity<P>() && abs(y) < infinity<P>();
  if (any(!plain)) {
    P special = result;
    pow_special(x, y, &special);
    return special;
  }
  return result;
}

}  // inline namespace KW_ISA
}  // namespace kernweave
