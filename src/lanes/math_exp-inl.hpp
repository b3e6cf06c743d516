// Mathematics on packs: exp, logarithm and roots, and the functions they are made of. Once per instruction set.
#pragma once
#include "lanes/pack-inl.hpp"
#include "kernweave/elementary.hpp"

namespace kernweave {
inline namespace KW_ISA {

// The layout of a number of the type, and the constants that follow from it.
template <class T>
struct Layout;

template <>
struct Layout<float> {
  using Unsigned = std::uint32_t;
  static constexpr int kFraction = 23;        // bits behind the binary point
  static constexpr int kBias = 127;           // exponent field of 1
  static constexpr double kUnit = 0x1p23;     // from here to its double, the numbers are whole
  static constexpr double kLeast = 0x1p-126;  // least number of full precision
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

// Returns x, or the nearer end of the range; NaN stays.
template <class P>
KW_FN P clamp(P x, P low, P high) {
  return greater(low, lesser(high, x));
}

template <class T>
KW_FN Pack<T> abs(Pack<T> x) {
  return from_pattern<T>(pattern(x) & ~pattern(Pack<T>(-0.0)));
}

template <class T>
KW_FN UnsignedVector<T> sign_bit(Pack<T> x) {
  return pattern(x) & pattern(Pack<T>(-0.0));
}
// Turns the sign of x where the sign bit is set.
template <class T>
KW_FN Pack<T> with_sign(Pack<T> x, UnsignedVector<T> sign) {
  return from_pattern<T>(pattern(x) ^ sign);
}

// Turns the sign of x where `other` is negative; turned_if_odd() turns it where the last bit of `other` is 1.
template <class T>
KW_FN Pack<T> turned_with(Pack<T> x, Pack<T> other) {
  return with_sign(x, sign_bit(other));
}
template <class T>
KW_FN Pack<T> turned_if_odd(Pack<T> x, Pack<T> other) {
  return with_sign(x, pattern(other) << static_cast<int>(8 * sizeof(T) - 1));
}

template <class T>
KW_FN Pack<T> sqrt(Pack<T> x) {
#if defined(__x86_64__)
  constexpr bool is_float = sizeof(T) == 4;
  if constexpr (kVectorBytes == 64 && is_float) x.v = _mm512_maskz_sqrt_ps(-1, x.v);
  if constexpr (kVectorBytes == 64 && !is_float) x.v = _mm512_maskz_sqrt_pd(-1, x.v);
  if constexpr (kVectorBytes == 32 && is_float) x.v = _mm256_sqrt_ps(x.v);
  if constexpr (kVectorBytes == 32 && !is_float) x.v = _mm256_sqrt_pd(x.v);
  if constexpr (kVectorBytes == 16 && is_float) x.v = _mm_sqrt_ps(x.v);
  if constexpr (kVectorBytes == 16 && !is_float) x.v = _mm_sqrt_pd(x.v);
#else
  for (int k = 0; k < Pack<T>::kLanes; ++k) x.v[k] = primitive::sqrt(x.v[k]);
#endif
  return x;
}

// Estimates 1 / sqrt(x): 11 bits or more if x and the estimate are ordinary float32 numbers; else arbitrary.
template <class T>
KW_FN Pack<T> inverse_sqrt_estimate(Pack<T> x) {
#if defined(__x86_64__)
  constexpr bool is_float = sizeof(T) == 4;
  if constexpr (kVectorBytes == 64 && is_float) x.v = _mm512_maskz_rsqrt14_ps(-1, x.v);
  if constexpr (kVectorBytes == 64 && !is_float) x.v = _mm512_maskz_rsqrt14_pd(-1, x.v);
  if constexpr (kVectorBytes == 32 && is_float) x.v = _mm256_rsqrt_ps(x.v);
  if constexpr (kVectorBytes == 32 && !is_float) x.v = _mm256_cvtps_pd(_mm_rsqrt_ps(_mm256_cvtpd_ps(x.v)));
  if constexpr (kVectorBytes == 16 && is_float) x.v = _mm_rsqrt_ps(x.v);
  if constexpr (kVectorBytes == 16 && !is_float) x.v = _mm_cvtps_pd(_mm_rsqrt_ps(_mm_cvtpd_ps(x.v)));
#endif
  return x;
}

// Computes y (1 - e)^(-1/2), where e = 1 - x y^2 is small, by its series up to e^2.
template <class T>
KW_FN Pack<T> nearer_inverse_sqrt(Pack<T> y, Pack<T> e) {
  return y + (y * e) * (e * Pack<T>(0.375) + Pack<T>(0.5));
}

#if defined(__x86_64__)
// Computes e = 1 - x y^2, the relative error of y^2 as an estimate of 1 / x.
template <class T>
KW_FN Pack<T> left_of_root(Pack<T> x, Pack<T> y) {
  return Pack<T>(1.0) - (x * y) * y;
}
template <class T>
KW_FN Pack<T> corrected_inverse_sqrt(Pack<T> x, Pack<T> y, Pack<T> left) {
  y = nearer_inverse_sqrt(y, left);
  if constexpr (sizeof(T) == 8) y = nearer_inverse_sqrt(y, left_of_root(x, y));
  return y;
}
// Computes 1 / sqrt(x) for numbers that have a valid estimate.
template <class T>
KW_FN Pack<T> near_inverse_sqrt(Pack<T> x) {
  const Pack<T> y = inverse_sqrt_estimate(x);
  return corrected_inverse_sqrt(x, y, left_of_root(x, y));
}
#endif

// Computes 1 / sqrt(x) by estimate and correction, half the time of root and division, which replace a failed estimate.
template <class T>
KW_FN Pack<T> inverse_sqrt(Pack<T> x) {
  using P = Pack<T>;
#if defined(__x86_64__)
  const P y = inverse_sqrt_estimate(x), left = left_of_root(x, y);
  if (all(abs(left) < P(0.01))) return corrected_inverse_sqrt(x, y, left);
#endif
  return P(1.0) / sqrt(x);
}
// Computes 1 / sqrt(x); 0 at 0, as in lane.hpp.
template <class T>
KW_FN Pack<T> rsqrt(Pack<T> x) {
  return select(x == Pack<T>(0.0), Pack<T>(0.0), inverse_sqrt(x));
}

// Powers of 2. A sum with kShifter leaves in its low bits the nearest whole number n of the other summand, plus
// the exponent field of 1/2: moved up, these bits are the number 2^(n-1). It is a half because n runs up to
// kBias + 1, where 2^n is Inf. At the other end, n = 1 - kBias, the bits are those of 0: below
// 2^(1.5 - kBias), just above the least number of full precision, the answer is 0 and never subnormal.
// The power is a factor and is not added to the exponent: a product keeps NaN, whatever its low bits (R's NA has some).
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

// Tells whether a product and a sum are rounded once. Vectors of more than 16 bytes have the instruction.
constexpr bool kJoined = kVectorBytes > 16;

// size * 2^r on [-1/2, 1/2], and size * exp(r) on [-ln 2 / 2, ln 2 / 2], the size a power of 2 in the source:
// minimax by Remez among the polynomials that are exact at 0. In units of the last place they are off by
// 1.05 (float), 0.03 (float, fine) and 0.55 (double). The shorter float ones were then searched nearby for the
// least measured error, which is below 2 only where a product and a sum are rounded once.
template <bool kFine, class P>
KW_FN P exp2_near_0(P r, double size) {
  if constexpr (!kSingle<P>) {
    return polynomial(r, size, size * 0x1.62e42fefa39efp-1, size * 0x1.ebfbdff82c58ep-3, size * 0x1.c6b08d704a02ap-5,
                      size * 0x1.3b2ab6fba4b6ep-7, size * 0x1.5d87fe78e690bp-10, size * 0x1.430912fcb1a35p-13,
                      size * 0x1.ffcbfa56c6339p-17, size * 0x1.62bffc4de287p-20, size * 0x1.b52b1359bc259p-24,
                      size * 0x1.e5b63ba4fd5d2p-28, size * 0x1.de08faa1b8becp-32);
  } else if constexpr (kFine) {
    return polynomial(r, size, size * 0x1.62e43p-1, size * 0x1.ebfbdap-3, size * 0x1.c6af08p-5, size * 0x1.3b2e54p-7,
                      size * 0x1.5f33a4p-10, size * 0x1.415648p-13);
  } else {
    return polynomial(r, size, size * 0x1.62e424p-1, size * 0x1.ebf9aap-3, size * 0x1.c6ba84p-5, size * 0x1.3cee24p-7,
                      size * 0x1.5ab4cap-10);
  }
}
template <bool kFine, class P>
KW_FN P exp_near_0(P r, double size) {
  if constexpr (!kSingle<P>) {
    return polynomial(r, size, size, size * 0.5, size * 0x1.55555555554e5p-3, size * 0x1.555555555520bp-5,
                      size * 0x1.111111114328dp-7, size * 0x1.6c16c170e6eaep-10, size * 0x1.a019fffe60b2fp-13,
                      size * 0x1.a019d52435eecp-16, size * 0x1.71e32a8bae78bp-19, size * 0x1.2871eb69d61dbp-22,
                      size * 0x1.a4eb89ec17edap-26);
  } else if constexpr (kFine) {
    return polynomial(r, size, size, size * 0x1.fffffap-2, size * 0x1.55543p-3, size * 0x1.55594p-5,
                      size * 0x1.125f2ap-7, size * 0x1.6a2cb6p-10);
  } else {
    return polynomial(r, size, size * 0x1.ffffeep-1, size * 0x1.fffdb4p-2, size * 0x1.555cfep-3, size * 0x1.573ec4p-5,
                      size * 0x1.0ee1d8p-7);
  }
}

// AVX-512 splits off the nearest whole number and puts it back as an exponent in one instruction each, and both are
// right for every x: there is no range to keep to.
constexpr bool kScalesByPowers = kVectorBytes == 64;
#if defined(__x86_64__)
template <class T>
KW_FN Pack<T> beside_whole(Pack<T> x) {
  if constexpr (kScalesByPowers && sizeof(T) == 4) x.v = _mm512_maskz_reduce_ps(-1, x.v, _MM_FROUND_TO_NEAREST_INT);
  if constexpr (kScalesByPowers && sizeof(T) == 8) x.v = _mm512_maskz_reduce_pd(-1, x.v, _MM_FROUND_TO_NEAREST_INT);
  return x;
}
// Computes x 2^n for whole n.
template <class T>
KW_FN Pack<T> times_power(Pack<T> x, Pack<T> n) {
  if constexpr (kScalesByPowers && sizeof(T) == 4) x.v = _mm512_maskz_scalef_ps(-1, x.v, n.v);
  if constexpr (kScalesByPowers && sizeof(T) == 8) x.v = _mm512_maskz_scalef_pd(-1, x.v, n.v);
  return x;
}
#endif

// Computes 2^x, for one pack or for several packs together.
template <class P>
KW_FN P exp2(P x) {
  using Range = PowerRange<typename P::Number>;
  if constexpr (kScalesByPowers) {
    const P r = beside_whole(x);
    return times_power(exp2_near_0<false>(r, 1), x - r);
  } else {
    const P z = clamp(x, P(Range::kLowest), P(Range::kHighest)), shifted = z + P(Range::kShifter);
    return exp2_near_0<!kJoined>(z - (shifted - P(Range::kShifter)), 2) * half_power(shifted);
  }
}

template <class P>
KW_FN P exp2_minus(P x) {
  using Range = PowerRange<typename P::Number>;
  if constexpr (kScalesByPowers) {
    return exp2(-x);
  } else {
    const P z = lesser(P(-Range::kLowest), x), shifted = P(Range::kShifter) - z;
    return exp2_near_0<!kJoined>((P(Range::kShifter) - shifted) - z, 2) * half_power(shifted);
  }
}

template <class P>
KW_FN P exp(P x) {
  using Format = Layout<typename P::Number>;
  using Range = PowerRange<typename P::Number>;
  const P z = clamp(x, P(Range::kLowest / kLog2E), P(0.25 + Range::kHighest / kLog2E));
  const P shifted = z * P(kLog2E) + P(Range::kShifter), n = shifted - P(Range::kShifter);
  const P r = (z - n * P(Format::kLn2High)) - n * P(Format::kLn2Low);
  return exp_near_0<!kJoined>(r, 2) * half_power(shifted);
}

// log((1 + s) / (1 - s)) = 2 s + s z Q(z) with z = s^2. Q on [0, 0.0295]: relative error of the whole 2^-30
// and 2^-59, minimax by Remez.
template <class P>
KW_FN P log_tail(P z) {
  if constexpr (kSingle<P>) {
    return polynomial(z, 0x1.55557ap-1, 0x1.995eb6p-2, 0x1.31e35p-2);
  } else {
    return polynomial(z, 0x1.5555555555592p-1, 0x1.999999997fd77p-2, 0x1.24924941f4fe6p-2, 0x1.c71c5206067c6p-3,
                      0x1.74663fa24861cp-3, 0x1.39a1a6f790314p-3, 0x1.2f063461f5d05p-3);
  }
}

// x = 2^exponent * fraction, the fraction between sqrt(1/2) and sqrt(2). For x > 0.
template <class P>
struct Split {
  P exponent, fraction;
};

template <class T>
KW_FN Split<Pack<T>> split(Pack<T> x) {
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

template <class P>
KW_FN P log(P x) {
  using Format = Layout<typename P::Number>;
  const Split<P> part = split(x);
  const P f = part.fraction - P(1.0), s = f / (part.fraction + P(1.0)), z = s * s;
  // log(1 + f) = f - f^2/2 + s (f^2/2 + z Q): the large f is exact and comes last.
  const P half_square = P(0.5) * f * f;
  const P small = s * (half_square + z * log_tail(z)) + part.exponent * P(Format::kLn2Low);
  const P result = part.exponent * P(Format::kLn2High) - ((half_square - small) - f);
  const P infinite = infinity<P>();
  const P at_most_0 = select(x == P(0.0), -infinite, infinite - infinite);
  return select(x <= P(0.0), at_most_0, select(x < infinite, result, x));
}

// exp(r) - 1 = r + r^2 P(r) on [-0.1985, 0.4955]: relative error of the whole 2^-25.6 (float), 2^-29.4 (float, where
// more is rounded) and 2^-55.1, minimax by Remez.
template <class P>
KW_FN P expm1_tail(P r) {
  if constexpr (!kSingle<P>) {
    return polynomial(r, 0.5, 0x1.5555555555429p-3, 0x1.5555555555accp-5, 0x1.111111119d357p-7, 0x1.6c16c160973e3p-10,
                      0x1.a019fd228ba50p-13, 0x1.a01a9b2867427p-16, 0x1.71e4c7c2b69c4p-19, 0x1.25d1fae7aca43p-22,
                      0x1.ec74ceadb5e60p-26);
  } else if constexpr (kJoined) {
    return polynomial(r, 0x1.000004p-1, 0x1.5556p-3, 0x1.554304p-5, 0x1.1030fep-7, 0x1.9ba9dcp-10);
  } else {
    return polynomial(r, 0x1p-1, 0x1.555556p-3, 0x1.55563cp-5, 0x1.110736p-7, 0x1.6a5fa8p-10, 0x1.d9a926p-13);
  }
}

// The number from which on tanh is 1 to the last bit.
template <class P>
constexpr double kTanhIsOne = kSingle<P> ? 10 : 20;

// tanh(a) = h / (h + 1), where h = (exp(2a) - 1) / 2 = 2^(n-1) (exp(r) - 1) + (2^(n-1) - 1/2): for n = 0, up to 2a =
// 0.496, nothing cancels. If q = h / (h + 1) is below 1/4, h - h q is nearer to tanh(a) than q; above, a unit in the
// last place is larger.
template <class P>
KW_FN P tanh(P x) {
  using Format = Layout<typename P::Number>;
  using Range = PowerRange<typename P::Number>;
  const P a = lesser(P(kTanhIsOne<P>), abs(x)), twice = a + a;
  const P shifted = (twice - P(0.15)) * P(kLog2E) + P(Range::kShifter), n = shifted - P(Range::kShifter);
  const P r = (twice - n * P(Format::kLn2High)) - n * P(Format::kLn2Low), power = half_power(shifted);
  const P h = power * (r + (r * r) * expm1_tail(r)) + (power - P(0.5)), q = h / (h + P(1.0));
  return turned_with(select(h < P(1.0 / 3), h - h * q, q), x);
}

}  // inline namespace KW_ISA
}  // namespace kernweave
