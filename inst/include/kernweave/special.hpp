// Special functions made of a lane's primitives: the error function, and the gamma function with its logarithmic
// derivatives. Rational parts of series are Bernoulli numbers; other coefficients are interpolations at Chebyshev's
// points.
#pragma once
#include "elementary.hpp"

namespace kernweave {
inline namespace KW_ISA {

// --- the error function ---

// Below this argument erf comes from its series, above it from erfc: in both ranges nothing cancels.
constexpr double kErfMiddle = 0.75;

// Returns erf(t) / t with z = t^2, relative error 2^-29 in float32, 2^-60 in float64.
template <class L>
KW_FN constexpr L erf_near_0(L z) {
  if constexpr (kSingle<L>) {
    return polynomial(z, 1.12837916557875168, -0.376126194694376761, 0.112833865384145441, -0.0268351145686097035,
                      0.00511533211253222635, -0.00067564795686800473);
  } else {
    return polynomial(z, 1.12837916709551257, -0.376126389031837169, 0.112837916709525961, -0.0268661706444284841,
                      0.00522397761542053867, -0.000854832618875975266, 0.000120552895675417067,
                      -0.0000149241963055696166, 1.64306841797415491e-6, -1.59400668546617174e-7,
                      1.14724997010946916e-8);
  }
}

// exp(a^2) erfc(a) (1 + 2 a) for 3/4 <= a <= 28, in t = (a - k) / (a + k): relative error 2^-30 (float32), 2^-60.
template <class L>
KW_FN constexpr L erfc_scaled(L a) {
  const L k(kSingle<L> ? 2.0 : 3.0), t = (a - k) / (a + k);
  if constexpr (kSingle<L>) {
    return polynomial(t, 1.27697838153874109, -0.0927638261999155976, -0.166030382194419779, 0.164051289000143958,
                      -0.0542207254156713469, -0.00803424523373550958, 0.00873287989232414029, 0.00126831451434130856,
                      -0.00151408587171673899, -0.000405775435376304499, 0.000317775386066120116);
  } else {
    return polynomial(t, 1.25300805826972965, -0.135621106124581193, -0.0475622943534512906, 0.129645158702763011,
                      -0.119273663415265269, 0.0683080273438865386, -0.023770514919949766, 0.00252939181798676438,
                      0.00188869037830055758, -0.000779832297955913345, -0.000105159955219930178,
                      0.000125099583177709577, 4.95022320095934989e-6, -0.0000201019164267818227,
                      -7.33480779762658919e-7, 3.47743874826693425e-6, 3.58955292545967582e-7, -6.28035392817455463e-7,
                      -1.38979207930448541e-7, 1.15932982203098502e-7, 3.1951738871358623e-8, -2.00273691281130085e-8);
  }
}

// Returns exp(-a^2). The square has two parts: the square of `few`, a number of few digits, is exact.
template <class L>
KW_FN constexpr L exp_minus_square(L a) {
  const L few = nearest(a * L(16.0)) * L(0.0625);
  return exp(-(few * few)) * exp((few - a) * (few + a));
}
// Returns erfc from kErfMiddle on, up to the argument at which it becomes 0.
template <class L>
KW_FN constexpr L erfc_far(L a) {
  const L within = select(a < L(28.0), a, L(28.0));
  return exp_minus_square(within) * erfc_scaled(within) / (L(1.0) + (within + within));
}

template <class L>
KW_FN constexpr L erf(L x) {
  const L a = abs(x), near_0 = a * erf_near_0(a * a);
  return with_sign_of(x, select(a < L(kErfMiddle), near_0, select(L(kErfMiddle) <= a, L(1.0) - erfc_far(a), a)));
}
template <class L>
KW_FN constexpr L erfc(L x) {
  const L a = abs(x), near_0 = L(1.0) - x * erf_near_0(x * x), far = erfc_far(a);
  return select(a < L(kErfMiddle), near_0, select(L(kErfMiddle) <= a, select(x < L(0.0), L(2.0) - far, far), x));
}

// --- the gamma function ---

// Asymptotic series are used from this argument on; a smaller argument is moved up by this number.
constexpr int kGammaSteps = 8;

template <class L>
KW_FN constexpr L moved_up(L x) {
  return select(x < L(kGammaSteps), x + L(kGammaSteps), x);
}

// x (x + 1) ... (x + 7), and the sums of 1 / (x + k) and of 1 / (x + k)^2, as quotients with one division each.
template <class L>
struct GammaSteps {
  L product, sum, squares;
};
template <class L>
KW_FN constexpr GammaSteps<L> gamma_steps(L x) {
  L product = x, above = L(1.0), square_of = x * x, squares_above = L(1.0), step = L(0.0);
  for (int k = 1; k < kGammaSteps; ++k) {
    step = step + L(1.0);
    const L next = x + step, next_square = next * next;
    above = above * next + product;
    product = product * next;
    squares_above = squares_above * next_square + square_of;
    square_of = square_of * next_square;
  }
  return {product, above / product, squares_above / square_of};
}

// Computes lgamma() for x >= 0.
template <class L>
KW_FN constexpr L lgamma_right(L x) {
  const L w = moved_up(x), r = L(1.0) / w;
  const L tail = r * polynomial(r * r, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360,
                                1.0 / 156, -3617.0 / 122400);
  const L stirling = ((w - L(0.5)) * (log(w) - L(1.0)) + tail) + L(0.91893853320467274178 - 0.5);
  return select(x < L(kGammaSteps), stirling - log(gamma_steps(x).product), stirling);
}
template <class L>
KW_FN constexpr L lgamma(L x) {
  const L right = lgamma_right(select(x < L(0.0), L(1.0) - x, x));
  return select(x < L(0.0), (L(1.14472988584940017414) - log(abs(sinpi(x)))) - right, right);
}
// Returns NaN at a pole, as in R.
template <class L>
KW_FN constexpr L gamma(L x) {
  const L size = exp(lgamma(x));
  const auto pole = x <= L(0.0) && x == nearest(x);
  return select(pole, not_a_number<L>(), select(x < L(0.0), turned(floor(x), size), size));
}

template <class L>
KW_FN constexpr L digamma_right(L x) {
  const L w = moved_up(x), r = L(1.0) / w, z = r * r;
  const L tail = z * polynomial(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12,
                                -3617.0 / 8160);
  const L far = (log(w) - L(0.5) * r) - tail;
  return select(x < L(kGammaSteps), far - gamma_steps(x).sum, far);
}
template <class L>
KW_FN constexpr L digamma(L x) {
  const auto pole = x <= L(0.0) && x == nearest(x);
  const L right = digamma_right(select(x < L(0.0), L(1.0) - x, x));
  const L value = select(x < L(0.0), right - L(kPi) * (cospi(x) / sinpi(x)), right);
  return select(pole, not_a_number<L>(), value);
}

template <class L>
KW_FN constexpr L trigamma_right(L x) {
  const L w = moved_up(x), r = L(1.0) / w, z = r * r;
  const L tail =
      (r * z) * polynomial(z, 1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6, -3617.0 / 510);
  const L far = (r + L(0.5) * z) + tail;
  return select(x < L(kGammaSteps), far + gamma_steps(x).squares, far);
}
template <class L>
KW_FN constexpr L trigamma(L x) {
  const L right = trigamma_right(select(x < L(0.0), L(1.0) - x, x)), turn = L(kPi) / sinpi(x);
  return select(x < L(0.0), turn * turn - right, right);
}

// Sums Euler and Maclaurin's terms: each is a coefficient times w^-s / w, and s and the power move on by two.
template <class L>
KW_FN constexpr L bernoulli_terms(L, L, L) {
  return L(0.0);
}
template <class L, class... Coefficients>
KW_FN constexpr L bernoulli_terms(L term, L s, L z, double first, Coefficients... more) {
  return L(first) * term + bernoulli_terms(term * ((s + L(1.0)) * (s + L(2.0))) * z, s + L(2.0), z, more...);
}

// The derivative of order n of digamma, for x above 0: n! times the sum of (x + k)^-(n + 1), by Euler and Maclaurin.
template <class L>
KW_FN constexpr L polygamma(L x, L order) {
  const L n = nearest(order), s = n + L(1.0), w = x + L(kGammaSteps), power = pow(w, -s), z = L(1.0) / (w * w);
  L sum = (w * power / n + L(0.5) * power) + bernoulli_terms(s * power / w, s, z, 1.0 / 12, -1.0 / 720, 1.0 / 30240,
                                                             -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000,
                                                             1.0 / 74724249600);
  L step = L(0.0);
  for (int k = 0; k < kGammaSteps; ++k) {
    sum = sum + pow(x + step, -s);
    step = step + L(1.0);
  }
  const L size = exp(lgamma_right(s)) * sum;
  return select(n == L(0.0), digamma(x), select(L(0.0) < x && L(0.0) < n, turned(s, size), not_a_number<L>()));
}

}  // inline namespace KW_ISA
}  // namespace kernweave
