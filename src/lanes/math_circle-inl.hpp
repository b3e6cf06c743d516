// Sine and cosine of packs. Once per instruction set.
#pragma once
#include "lanes/math_exp-inl.hpp"

namespace kernweave {
inline namespace KW_ISA {

// The limit of |x|: up to it, x / pi is a whole or half number of at most 16 bits, as the parts of pi require.
constexpr double kCircleLimit = 1e5;

// A number in two: nearest, and what that left out.
template <class P>
struct Reduced {
  P nearest, rest;
};

// r - turns * part, no digit lost: the product is exact, and the rest is that of the difference. Joining a
// product and a difference into one rounding changes nothing, since the product has none.
template <class P>
KW_FN Reduced<P> less(Reduced<P> r, P turns, double part) {
  const P product = turns * P(part), difference = r.nearest - product;
  return {difference, r.rest + ((r.nearest - difference) - product)};
}
// Computes x - turns * part for the first part. Here a difference has a rest only where the product is larger than x.
template <class P>
KW_FN Reduced<P> less(P x, P turns, double part) {
  const P product = turns * P(part), difference = x - product;
  return {difference, x - (difference + product)};
}

// x - turns * pi. The parts of pi have at most 8 bits in float and 37 in double, so that their products with
// turns are exact; the last has all bits. Among the floats up to the limit the result is no less than 2^-28:
// with turns, the parts must reach 2^-28 / 2^15 / 2^24.
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

// Computes x - turns * pi where products join sums in one rounding. The first difference is exact: its terms are whole
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
    // The rest counts cos(r) times, for which 1 - z / (pi/2)^2 is near enough.
    const P rest = r.rest - r.rest * (z * P(0.40528473456935109));
    return r.nearest * P(0.5) + (r.nearest * half_sin_tail(z) + rest);
  }
}

constexpr double kOneByPi = 0x1.45f306dc9c883p-2;

// Computes sin(x) up to the limit. Each half turn taken off turns the sign. Uses |x|, or the sign of -0 were lost.
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

// The lanes beyond the limit, infinite ones among them, from the library: rare, and then slow.
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

}  // inline namespace KW_ISA
}  // namespace kernweave
