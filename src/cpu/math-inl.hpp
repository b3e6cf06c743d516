// Mathematics on packs: exp, logarithm and roots, and what they are made of. Once per instruction set.
#pragma once
#include "cpu/pack-inl.hpp"

namespace kernweave {
inline namespace KW_ISA {

// How a number of the type is laid out, and the constants that follow from it.
template <class T>
struct Layout;

template <>
struct Layout<float> {
  using Unsigned = std::uint32_t;
  static constexpr int kFraction = 23;         // bits behind the binary point
  static constexpr int kBias = 127;            // exponent field of 1
  static constexpr double kUnit = 0x1p23;      // from here to its double, the numbers are whole
  static constexpr double kLeast = 0x1p-126;   // least number of full precision
  // ln 2 = high + low: high has 15 bits, so that its product with an exponent is exact.
  static constexpr double kLn2High = 0x1.62e4p-1;
  static constexpr double kLn2Low = 0x1.7f7d1cp-20;
};

template <>
struct Layout<double> {
  using Unsigned = std::uint64_t;
  static constexpr int kFraction = 52;
  static constexpr int kBias = 1023;
  static constexpr double kUnit = 0x1p52;
  static constexpr double kLeast = 0x1p-1022;
  // Here high has 32 bits.
  static constexpr double kLn2High = 0x1.62e42feep-1;
  static constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
};

template <class T>
using UnsignedVector __attribute__((vector_size(kVectorBytes))) = typename Layout<T>::Unsigned;

constexpr double kLog2E = 0x1.71547652b82fep+0;  // 1 / ln 2

template <class T>
KW_FN UnsignedVector<T> pattern(Pack<T> x) {
  return reinterpret_cast<UnsignedVector<T>>(x.v);
}
template <class T>
KW_FN Pack<T> from_pattern(UnsignedVector<T> bits) {
  return Pack<T>::of(reinterpret_cast<typename Pack<T>::Vector>(bits));
}

// The sum of coefficients times powers of x, the constant first.
template <class P>
KW_FN P polynomial(P, double last) {
  return last;
}
template <class P, class... Coefficients>
KW_FN P polynomial(P x, double first, Coefficients... higher) {
  return polynomial(x, higher...) * x + P(first);
}

// x, or the nearer end of the range; NaN stays. g++ sees no minimum in a comparison and a choice.
// (Here and below maskz with a full mask: the plain forms make g++ 12 warn of its own header.)
template <class T>
KW_FN Pack<T> clamp(Pack<T> x, Pack<T> low, Pack<T> high) {
  using P = Pack<T>;
#if defined(__x86_64__)
  // These give their second operand where one is NaN.
  constexpr bool is_float = sizeof(T) == 4;
  if constexpr (kVectorBytes == 64 && is_float) return P::of(_mm512_maskz_max_ps(-1, low.v, _mm512_maskz_min_ps(-1, high.v, x.v)));
  if constexpr (kVectorBytes == 64 && !is_float) return P::of(_mm512_maskz_max_pd(-1, low.v, _mm512_maskz_min_pd(-1, high.v, x.v)));
  if constexpr (kVectorBytes == 32 && is_float) return P::of(_mm256_max_ps(low.v, _mm256_min_ps(high.v, x.v)));
  if constexpr (kVectorBytes == 32 && !is_float) return P::of(_mm256_max_pd(low.v, _mm256_min_pd(high.v, x.v)));
  if constexpr (kVectorBytes == 16 && is_float) return P::of(_mm_max_ps(low.v, _mm_min_ps(high.v, x.v)));
  if constexpr (kVectorBytes == 16 && !is_float) return P::of(_mm_max_pd(low.v, _mm_min_pd(high.v, x.v)));
#else
  P below = select(high < x, high, x);
  return select(below < low, low, below);
#endif
}

template <class T>
KW_FN Pack<T> abs(Pack<T> x) {
  return Pack<T>::of_bits(bits(x) & ~bits(Pack<T>(-0.0)));
}

template <class T>
KW_FN Pack<T> sqrt(Pack<T> x) {
  using P = Pack<T>;
#if defined(__x86_64__)
  constexpr bool is_float = sizeof(T) == 4;
  if constexpr (kVectorBytes == 64 && is_float) return P::of(_mm512_maskz_sqrt_ps(-1, x.v));
  if constexpr (kVectorBytes == 64 && !is_float) return P::of(_mm512_maskz_sqrt_pd(-1, x.v));
  if constexpr (kVectorBytes == 32 && is_float) return P::of(_mm256_sqrt_ps(x.v));
  if constexpr (kVectorBytes == 32 && !is_float) return P::of(_mm256_sqrt_pd(x.v));
  if constexpr (kVectorBytes == 16 && is_float) return P::of(_mm_sqrt_ps(x.v));
  if constexpr (kVectorBytes == 16 && !is_float) return P::of(_mm_sqrt_pd(x.v));
#else
  for (int k = 0; k < P::kLanes; ++k) x.v[k] = primitive::sqrt(x.v[k]);
  return x;
#endif
}

// 0 at 0, as in lane.hpp.
template <class T>
KW_FN Pack<T> rsqrt(Pack<T> x) {
  return select(x == Pack<T>(0.0), Pack<T>(0.0), Pack<T>(1.0) / sqrt(x));
}

// Powers of 2. A sum with kShifter leaves in its low bits the nearest whole number n of the other summand,
// plus the exponent field of 1/2: moved up, these bits are the number 2^(n-1). The half is because
// n runs from kMinExponent to kBias + 1, and both ends must do: at the lower, 2^(n-1) has the pattern of 0.
template <class T>
struct PowerRange {
  static constexpr double kShifter = 1.5 * Layout<T>::kUnit + (Layout<T>::kBias - 1);
  static constexpr double kHighest = Layout<T>::kBias + 1;
  static constexpr double kLowest = 1 - Layout<T>::kBias;
};

template <class T>
KW_FN Pack<T> half_power(Pack<T> shifted) {
  return from_pattern<T>(pattern(shifted) << Layout<T>::kFraction);
}

// 2 * 2^r on [-1/2, 1/2], and 2 exp(r) on [-ln 2 / 2, ln 2 / 2].
// Minimax by Remez among the polynomials that are exact at 0.
KW_FN Pack<float> twice_exp2(Pack<float> r) {
  return polynomial(r, 2.0, 0x1.62e424p+0, 0x1.ebf9b4p-2, 0x1.c6baa2p-4, 0x1.3ceca2p-6, 0x1.5ab454p-9);
}
KW_FN Pack<double> twice_exp2(Pack<double> r) {
  return polynomial(r, 2.0, 0x1.62e42fefa39efp+0, 0x1.ebfbdff82c58ep-2, 0x1.c6b08d704a02ap-4, 0x1.3b2ab6fba4b6ep-6,
                    0x1.5d87fe78e690bp-9, 0x1.430912fcb1a35p-12, 0x1.ffcbfa56c6339p-16, 0x1.62bffc4de287p-19,
                    0x1.b52b1359bc259p-23, 0x1.e5b63ba4fd5d2p-27, 0x1.de08faa1b8becp-31);
}
KW_FN Pack<float> twice_exp(Pack<float> r) {
  return polynomial(r, 2.0, 0x1.ffffeep+0, 0x1.fffdbep-1, 0x1.555ce6p-2, 0x1.573c9ep-4, 0x1.0edbb6p-6);
}
KW_FN Pack<double> twice_exp(Pack<double> r) {
  return polynomial(r, 2.0, 2.0, 1.0, 0x1.55555555554e5p-2, 0x1.555555555520bp-4, 0x1.111111114328dp-6,
                    0x1.6c16c170e6eaep-9, 0x1.a019fffe60b2fp-12, 0x1.a019d52435eecp-15, 0x1.71e32a8bae78bp-18,
                    0x1.2871eb69d61dbp-21, 0x1.a4eb89ec17edap-25);
}

template <class T>
KW_FN Pack<T> exp2(Pack<T> x) {
  using P = Pack<T>;
  using Range = PowerRange<T>;
  P z = clamp(x, P(Range::kLowest), P(Range::kHighest));
  P shifted = z + P(Range::kShifter);
  return twice_exp2(z - (shifted - P(Range::kShifter))) * half_power(shifted);
}

template <class T>
KW_FN Pack<T> exp(Pack<T> x) {
  using P = Pack<T>;
  using Range = PowerRange<T>;
  P z = clamp(x, P(Range::kLowest / kLog2E), P(0.25 + Range::kHighest / kLog2E));
  P shifted = z * P(kLog2E) + P(Range::kShifter);
  P n = shifted - P(Range::kShifter);
  P r = (z - n * P(Layout<T>::kLn2High)) - n * P(Layout<T>::kLn2Low);
  return twice_exp(r) * half_power(shifted);
}

// log((1 + s) / (1 - s)) = 2 s + s z Q(z) with z = s^2. Q on [0, 0.0295]: relative error of the whole 2^-30
// and 2^-59, minimax by Remez.
KW_FN Pack<float> log_tail(Pack<float> z) { return polynomial(z, 0x1.55557ap-1, 0x1.995eb6p-2, 0x1.31e35p-2); }
KW_FN Pack<double> log_tail(Pack<double> z) {
  return polynomial(z, 0x1.5555555555592p-1, 0x1.999999997fd77p-2, 0x1.24924941f4fe6p-2, 0x1.c71c5206067c6p-3,
                    0x1.74663fa24861cp-3, 0x1.39a1a6f790314p-3, 0x1.2f063461f5d05p-3);
}

// x = 2^exponent * fraction, the fraction between sqrt(1/2) and sqrt(2). For x > 0.
template <class T>
struct Split {
  Pack<T> exponent;
  Pack<T> fraction;
};

template <class T>
KW_FN Split<T> split(Pack<T> x) {
  using P = Pack<T>;
  using Format = Layout<T>;
  constexpr double kRaise = 4 * Format::kUnit;
  auto tiny = x < P(Format::kLeast);
  P normal = select(tiny, x * P(kRaise), x);
  P bias = select(tiny, P(Format::kBias + Format::kFraction + 2), P(Format::kBias));
  // Adding 1 - sqrt(1/2) to the pattern makes the exponent field step at sqrt(1/2), not at 1.
  auto low = pattern(P(0.70710678118654752440));
  auto moved = pattern(normal) + (pattern(P(1.0)) - low);
  P exponent = from_pattern<T>((moved >> Format::kFraction) | pattern(P(Format::kUnit))) - P(Format::kUnit);
  P fraction = from_pattern<T>((moved & (pattern(P(Format::kLeast)) - 1)) + low);
  return {exponent - bias, fraction};
}

template <class T>
KW_FN Pack<T> log(Pack<T> x) {
  using P = Pack<T>;
  Split<T> part = split(x);
  P f = part.fraction - P(1.0);
  P s = f / (part.fraction + P(1.0));
  P z = s * s;
  // log(1 + f) = f - f^2/2 + s (f^2/2 + z Q): the large f is exact and comes last.
  P half_square = P(0.5) * f * f;
  P small = s * (half_square + z * log_tail(z)) + part.exponent * P(Layout<T>::kLn2Low);
  P result = part.exponent * P(Layout<T>::kLn2High) - ((half_square - small) - f);
  P infinite = infinity<P>();
  P at_most_0 = select(x == P(0.0), -infinite, infinite - infinite);
  return select(x <= P(0.0), at_most_0, select(x < infinite, result, x));
}

// Temporary.
template <class T, class F>
KW_FN Pack<T> each_lane(Pack<T> x, F f) {
  for (int k = 0; k < Pack<T>::kLanes; ++k) x.v[k] = f(x.v[k]);
  return x;
}
template <class T>
KW_FN Pack<T> sin(Pack<T> x) {
  return each_lane(x, [](T v) { return primitive::sin(v); });
}
template <class T>
KW_FN Pack<T> cos(Pack<T> x) {
  return each_lane(x, [](T v) { return primitive::cos(v); });
}
template <class T>
KW_FN Pack<T> tanh(Pack<T> x) {
  return each_lane(x, [](T v) { return primitive::tanh(v); });
}
template <class T>
KW_FN Pack<T> pow(Pack<T> x, Pack<T> y) {
  for (int k = 0; k < Pack<T>::kLanes; ++k) x.v[k] = static_cast<T>(__builtin_pow(x.v[k], y.v[k]));
  return x;
}

}  // inline namespace KW_ISA
}  // namespace kernweave
