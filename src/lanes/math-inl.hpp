// Mathematics on packs: sine and cosine, powers, and all functions made of exp. Once per instruction set.
#pragma once
#include "lanes/math_exp-inl.hpp"

namespace kernweave {
inline namespace KW_ISA {

// The limit of |x|: up to it, x / pi is a whole or half number of at most 16 bits, as the parts of pi require.
constexpr double kCircleLimit = 1e5;

// A number as a sum of two: the nearest number, and the rest.
template <class P>
struct Reduced {
  P nearest, rest;
};

// Computes r - turns * part without loss: the product is exact, and the rest of the difference is kept. Joining a
// product and a difference into one rounding changes nothing, since the product has none.
template <class P>
KW_FN Reduced<P> less(Reduced<P> r, P turns, double part) {
  const P product = turns * P(part), difference = r.nearest - product;
  return {difference, r.rest + ((r.nearest - difference) - product)};
}
// Computes x - turns * part for the first part. Here a difference has a rest only if the product is larger than x.
template <class P>
KW_FN Reduced<P> less(P x, P turns, double part) {
  const P product = turns * P(part), difference = x - product;
  return {difference, x - (difference + product)};
}

// Computes x - turns * pi. The parts of pi have at most 8 bits in float and 37 in double, so that their products with
// turns are exact; the last has all bits. Among the floats up to the limit the result is no less than 2^-28: with
// turns, the parts must reach 2^-28 / 2^15 / 2^24.
template <class P>
KW_FN Reduced<P> less_turns(P x, P turns) {
  if constexpr (!kSingle<P>) {
    const Reduced<P> r = less(less(x, turns, 0x1.921fb5444p+1), turns, 0x1.68c234c4cp-38);
    return {r.nearest, r.rest - turns * P(0x1.98a2e03707345p-76)};
  } else {
    Reduced<P> r = less(less(x, turns, 0x1.92p+1), turns, 0x1.fcp-11);
    r = less(less(less(r, turns, -0x1.58p-20), turns, 0x1.1p-29), turns, 0x1.68p-38);
    return {r.nearest, r.rest - turns * P(0x1.84698ap-47)};
  }
}

// Computes x - turns * pi if products join sums in one rounding. The first difference is exact: its terms are whole
// multiples of 2^-23 (2^-52), and it is less than 2. The second difference is rounded once, the last part too small to
// count twice.
template <class P>
KW_FN P less_turns_joined(P x, P turns) {
  if constexpr (kSingle<P>)
    return ((x - turns * P(0x1.921fb6p+1)) - turns * P(-0x1.777a5cp-24)) - turns * P(-0x1.ee59dap-49);
  else
    return ((x - turns * P(0x1.921fb54442d18p+1)) - turns * P(0x1.1a62633145c07p-53)) -
           turns * P(-0x1.f1976b7ed8fbcp-109);
}

// sin(r) = r/2 + r (1/2 - z/8 + z P(z)) with z = r^2, to a little beyond pi/2: relative error 2^-27 and 2^-61,
// minimax by Remez. In these parts, because next to pi/2 only the small ones are inexact.
template <class P>
KW_FN P sin_tail(P z) {
  if constexpr (kSingle<P>) {
    return polynomial(z, -0x1.55552ep-5, 0x1.110eccp-7, -0x1.9f6e98p-13, 0x1.5da8f2p-19);
  } else {
    return polynomial(z, -0x1.5555555555554p-5, 0x1.11111111110c1p-7, -0x1.a01a01a0148bdp-13, 0x1.71de3a5287c99p-19,
                      -0x1.ae6454cb58d86p-26, 0x1.6123cb2980025p-33, -0x1.ae431dbd918cbp-41, 0x1.8829a72f4dddcp-49);
  }
}

template <class P>
KW_FN P half_sin_tail(P z) {
  return (P(0.5) - z * P(0.125)) + z * sin_tail(z);
}

// Computes sin(x - turns * pi).
template <class P>
KW_FN P sin_after(P x, P turns) {
  if constexpr (kJoined) {
    const P r = less_turns_joined(x, turns);
    return r * P(0.5) + r * half_sin_tail(r * r);
  } else {
    const Reduced<P> r = less_turns(x, turns);
    const P z = r.nearest * r.nearest;
    // The rest counts times cos(r), for which 1 - z / (pi/2)^2 is near enough.
    const P rest = r.rest - r.rest * (z * P(0.40528473456935109));
    return r.nearest * P(0.5) + (r.nearest * half_sin_tail(z) + rest);
  }
}

constexpr double kOneByPi = 0x1.45f306dc9c883p-2;

// Computes sin(x) up to the limit. Each half turn taken off turns the sign. Uses |x|, or the sign of -0 would be lost.
template <class P>
KW_FN P near_sin(P x) {
  constexpr double kShifter = 1.5 * Layout<typename P::Number>::kUnit;
  const P a = abs(x), shifted = a * P(kOneByPi) + P(kShifter);
  return turned_with(turned_if_odd(sin_after(a, shifted - P(kShifter)), shifted), x);
}

// cos(x) = -sin(x - pi/2): the turns are halves, the odd shifter turns the sign once more.
template <class P>
KW_FN P near_cos(P x) {
  constexpr double kShifter = 1.5 * Layout<typename P::Number>::kUnit + 1;
  const P shifted = (x * P(kOneByPi) - P(0.5)) + P(kShifter);
  return turned_if_odd(sin_after(x, (shifted - P(kShifter)) + P(0.5)), shifted);
}

// Computes the lanes beyond the limit, infinite lanes included, by the library: rare, and then slow.
template <bool of_cosine, class T>
__attribute__((noinline)) void far_lanes(const Pack<T>& x, Pack<T>* result) {
  for (int k = 0; k < Pack<T>::kLanes; ++k) {
    T number = lane(x, k);
    if (__builtin_fabs(number) <= kCircleLimit) continue;
    *result = with_lane(*result, k, of_cosine ? primitive::cos(number) : primitive::sin(number));
  }
}

template <bool of_cosine, class T>
KW_FN Pack<T> with_far_lanes(Pack<T> x, Pack<T> result) {
  if (!any(Pack<T>(kCircleLimit) < abs(x))) return result;
  Pack<T> complete = result;
  far_lanes<of_cosine>(x, &complete);
  return complete;
}

template <class T>
KW_FN Pack<T> sin(Pack<T> x) {
  return with_far_lanes<false>(x, near_sin(x));
}
template <class T>
KW_FN Pack<T> cos(Pack<T> x) {
  return with_far_lanes<true>(x, near_cos(x));
}

// --- powers --------------------------------------------------------------------------------------------------------
// x^y = 2^(y log2 x), the logarithm in two numbers.

// A number as the sum of two: high has half the bits of T, so that a product of two high parts is exact. If this
// product meets a sum, joining the two into one rounding changes nothing.
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

// Computes s = (f - 1) / (f + 1) as a sum of two.
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

// Computes log2 x as a sum of two, by the scheme of Sun's e_pow.c (fdlibm).
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

// Computes 2^(y l).
template <class T>
KW_FN Pack<T> exp2_of_product(Pack<T> y, Pair<T> l) {
  using P = Pack<T>;
  using Range = PowerRange<T>;
  P y_high = high_half(y);
  P low = (y - y_high) * l.high + y * l.low;
  P product = y_high * l.high;
  P shifted = clamp(product + low, P(Range::kLowest), P(Range::kHighest)) + P(Range::kShifter);
  P r = (product - (shifted - P(Range::kShifter))) + low;
  // Out of range, only the sign of r matters.
  return exp2_near_0<true>(clamp(r, P(-1.0), P(1.0)), 2) * half_power(shifted);
}

// Sets the results that C prescribes if the base is no ordinary positive number or the exponent is not finite.
// Elsewhere the result stays as it is.
template <class T>
__attribute__((noinline)) void pow_special(const Pack<T>& x, const Pack<T>& y, Pack<T>* result) {
  using P = Pack<T>;
  const P zero = 0.0, one = 1.0, infinite = infinity<P>(), unit = Layout<T>::kUnit;
  P a = abs(x);
  P b = abs(y);
  // A sum of at least kUnit is whole, and its last bit tells whether it is odd; from 2 kUnit on, no number is odd.
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
