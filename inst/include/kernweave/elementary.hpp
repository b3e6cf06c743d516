// Elementary functions made of a lane's primitives, with one code for numbers, for vectors and for a device: rounding,
// hyperbolic functions and their inverses, arcs. Errors are a few units in the last place.
#pragma once
#include "lane.hpp"

namespace kernweave {
inline namespace KW_ISA {

template <class L>
constexpr bool kSingle = sizeof(typename L::Number) == 4;

// Returns the sum of coefficients times powers of x, the constant first.
template <class L>
KW_FN constexpr L polynomial(L, double last) {
  return L(last);
}
template <class L, class... Coefficients>
KW_FN constexpr L polynomial(L x, double first, Coefficients... higher) {
  return polynomial(x, higher...) * x + L(first);
}

template <class L>
KW_FN constexpr L with_sign_of(L x, L size) {
  return select(x < L(0.0), -size, size);
}
template <class L>
KW_FN constexpr L not_a_number() {
  return L(0.0) / L(0.0);
}

// --- rounding ---

// Returns the nearest whole number, the even one of two equally near: adding a number so large that the sum has no
// digits behind the point rounds, and subtracting that number again leaves the rounded number.
template <class L>
KW_FN constexpr L nearest(L x) {
  const L unit(kSingle<L> ? 0x1p23 : 0x1p52);
  return select(abs(x) < unit, with_sign_of(x, (abs(x) + unit) - unit), x);
}
template <class L>
KW_FN constexpr L floor(L x) {
  return nearest(x) - select(x < nearest(x), L(1.0), L(0.0));
}
template <class L>
KW_FN constexpr L ceiling(L x) {
  return -floor(-x);
}
template <class L>
KW_FN constexpr L trunc(L x) {
  return with_sign_of(x, floor(abs(x)));
}
// Returns x - y floor(x / y), which has the sign of y.
template <class L>
KW_FN constexpr L modulo(L x, L y) {
  return x - y * floor(x / y);
}

// --- exponentials and logarithms next to 0 and 1 ---

template <class L>
KW_FN constexpr L expm1(L x) {
  const L half = tanh(x * L(0.5));
  return select(abs(x) < L(1.0), (half + half) / (L(1.0) - half), exp(x) - L(1.0));
}
// Returns log(1 + x). The quotient makes up for the digits of x that 1 + x has lost.
template <class L>
KW_FN constexpr L log1p(L x) {
  const L sum = L(1.0) + x, kept = sum - L(1.0);
  return select(kept == L(0.0), x, log(sum) * select(x < L(1.0), x / kept, L(1.0)));
}
// Returns log(1 + exp(x)).
template <class L>
KW_FN constexpr L softplus(L x) {
  return select(L(0.0) < x, x, L(0.0)) + log1p(exp(-abs(x)));
}

// --- hyperbolic ---

template <class L>
KW_FN constexpr L sinh(L x) {
  const L a = abs(x), e = expm1(a), half = exp(a * L(0.5));
  const L near_0 = L(0.5) * (e + e / (e + L(1.0)));
  const L far = (L(0.5) * half) * half - L(0.5) / (half * half);
  return with_sign_of(x, select(a < L(1.0), near_0, far));
}
template <class L>
KW_FN constexpr L cosh(L x) {
  const L half = exp(abs(x) * L(0.5));
  return (L(0.5) * half) * half + L(0.5) / (half * half);
}

// The argument beyond which 1 is negligible beside its square.
constexpr double kLargeSquare = 0x1p28;
constexpr double kLn2 = 0.69314718055994530942;

template <class L>
KW_FN constexpr L asinh(L x) {
  const L a = abs(x), square_of = a * a;
  const L near_0 = log1p(a + square_of / (L(1.0) + sqrt(L(1.0) + square_of)));
  return with_sign_of(x, select(a < L(kLargeSquare), near_0, log(a) + L(kLn2)));
}
template <class L>
KW_FN constexpr L acosh(L x) {
  const L t = x - L(1.0), near_1 = log1p(t + sqrt((t + t) + t * t));
  return select(x < L(1.0), not_a_number<L>(), select(x < L(kLargeSquare), near_1, log(x) + L(kLn2)));
}
template <class L>
KW_FN constexpr L atanh(L x) {
  const L a = abs(x);
  return with_sign_of(x, L(0.5) * log1p((a + a) / (L(1.0) - a)));
}

// --- arcs ---

constexpr double kPi = 3.14159265358979323846;

// Returns (atan(t) / t - 1) / t^2 with z = t^2, t up to tan(pi / 8), interpolated at Chebyshev's points: the relative
// error of the whole is 2^-28 in float32, 2^-57 in float64.
template <class L>
KW_FN constexpr L atan_tail(L z) {
  if constexpr (kSingle<L>) {
    return polynomial(z, -0.333333317611685199, 0.199995404836489634, -0.142639555979846392, 0.10743731490791083,
                      -0.0645192820812174876);
  } else {
    return polynomial(z, -0.333333333333333302, 0.199999999999955207, -0.142857142846665429, 0.111111110152563617,
                      -0.0909090457812390189, 0.0769218319082608656, -0.06664511447381948, 0.0585814891280220988,
                      -0.0508544973794025986, 0.0392316582955871913, -0.019176887119062259);
  }
}
// Argument reduction: subtracts 0, pi / 4 or pi / 2 from the arc, so that little is left for the series.
template <class L>
KW_FN constexpr L atan(L x) {
  const L a = abs(x);
  const auto steep = L(2.41421356237309504880) < a, middle = L(0.41421356237309504880) < a;
  const L above = select(steep, L(-1.0), select(middle, a - L(1.0), a));
  const L below = select(steep, a, select(middle, a + L(1.0), L(1.0)));
  const L base = select(steep, L(kPi / 2), select(middle, L(kPi / 4), L(0.0)));
  const L t = above / below, z = t * t;
  return with_sign_of(x, base + (t + t * (z * atan_tail(z))));
}
template <class L>
KW_FN constexpr L asin(L x) {
  const L arc = atan(x / (L(1.0) + sqrt((L(1.0) - x) * (L(1.0) + x))));
  return arc + arc;
}
template <class L>
KW_FN constexpr L acos(L x) {
  const L arc = atan(sqrt((L(1.0) - x) / (L(1.0) + x)));
  return arc + arc;
}
// Returns the angle of the point (x, y).
template <class L>
KW_FN constexpr L atan2(L y, L x) {
  const L a = abs(y), b = abs(x);
  const L quotient = select(a == b, select(a == L(0.0), L(0.0), L(1.0)), a / b);
  const L arc = atan(quotient);
  return with_sign_of(y, select(x < L(0.0), L(kPi) - arc, arc));
}

// --- circles in half turns ---

// Returns the value, with its sign changed if `whole`, a number of half turns, is odd.
template <class L>
KW_FN constexpr L turned(L whole, L value) {
  return select(differs(nearest(whole * L(0.5)) * L(2.0), whole), -value, value);
}
template <class L>
KW_FN constexpr L sinpi(L x) {
  const L whole = nearest(x);
  return turned(whole, sin((x - whole) * L(kPi)));
}
template <class L>
KW_FN constexpr L cospi(L x) {
  const L whole = nearest(x);
  return turned(whole, sin((L(0.5) - abs(x - whole)) * L(kPi)));
}

// The derivative of sin(x) / x. Near 0 its terms cancel, so the series is used there.
template <class L>
KW_FN constexpr L sinc_slope(L x) {
  const L near_0 = x * polynomial(x * x, -1.0 / 3, 1.0 / 30, -1.0 / 840, 1.0 / 45360, -1.0 / 3991680, 1.0 / 518918400,
                                  -1.0 / 93405312000);
  return select(abs(x) < L(0.5), near_0, (cos(x) - sin(x) / x) / x);
}

}  // inline namespace KW_ISA
}  // namespace kernweave
