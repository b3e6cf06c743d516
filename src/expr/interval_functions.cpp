// Functions rise or fall between places that are known, so that their values at the ends, and there, bound them.
#include "expr/interval.hpp"

#include <algorithm>

#include "kernweave/special.hpp"

namespace kernweave {
namespace {

constexpr double kTurn = 2 * 3.14159265358979323846;
// The argument at which the gamma function is least, and the gamma function and its logarithm there.
constexpr double kGammaTurns = 1.4616321449683623, kLeastGamma = 0.8856031944108887, kLeastLgamma = -0.1214862905358496;

using RealFunction = double (*)(double);

// Tells whether an end is exact: functions of rows are exact at 0 and in limits, where their value is 0, 1 or -1.
bool is_exact(double value) { return value == 0 || std::fabs(value) == 1; }

Interval nothing_known(const Interval& a) {
  Interval made = Interval::anything();
  made.off = a.off;
  return made;
}
Interval with_ends(const Interval& a, double least, double most) {
  Interval made(least, most);
  made.nan = made.nan || a.nan;
  made.pole = a.pole && !made.finite();
  made.whole = false;
  made.minus_zero = made.has(0) && (made.least < 0 || a.minus_zero);
  made.off = a.off;
  return rounded(made, is_exact(least), is_exact(most));
}
// Bounds a function that rises for arguments from `least` to `most`, and has no values beyond.
Interval rising(RealFunction f, const Interval& a, double least = -HUGE_VAL, double most = HUGE_VAL) {
  if (a.least < least || a.most > most) return nothing_known(a);
  Interval made = with_ends(a, f(a.least), f(a.most));
  made.pole = made.pole || (std::isinf(made.least) && std::isfinite(a.least)) ||
              (std::isinf(made.most) && a.most == most && std::isfinite(most));
  return made;
}
Interval falling(RealFunction f, const Interval& a) { return with_ends(a, f(a.most), f(a.least)); }
// Removes -0 from the values of a function without a sign.
Interval unsigned_of(Interval a) {
  a.minus_zero = false;
  return a;
}
// Widens an interval by size * off: the error is no share of the value.
Interval off_by(double size, Interval a) {
  a.least -= size * a.off;
  a.most += size * a.off;
  return a;
}
// Widens an interval of powers: the relative error of an exponent makes a relative error of the power.
Interval as_power(Interval a) {
  const auto wider = [&](double end) {
    const double exponent = std::fabs(std::log(std::fabs(end)));
    return end == 0 || std::isinf(end) ? 0 : std::fabs(end) * std::min(1.0, 8 * a.off * exponent);
  };
  a.least -= wider(a.least);
  a.most += wider(a.most);
  return a;
}
// Exponents that are off make as large a share of the power.
Interval as_exponent(const Interval& a) { return rounded(a, a.least == 0, a.most == 0); }

// Bounds a wave from -1 to 1 whose maxima are `top` and whole periods from `top`.
Interval wave(RealFunction f, const Interval& a, double top, double period) {
  constexpr double kFar = 1e6;
  if (!(a.least > -kFar && a.most < kFar)) return with_ends(a, -1, 1);
  const auto meets = [&](double at) {
    return std::floor((a.most - at) / period) > std::floor((a.least - at) / period);
  };
  const auto margin = [&](double at) { return a.off * (at == 0 ? 0 : std::max(1.0, std::fabs(at))); };
  const double first = f(a.least), last = f(a.most), off_first = margin(a.least), off_last = margin(a.most);
  const double least = meets(top + period / 2) ? -1 : std::max(-1.0, std::min(first - off_first, last - off_last));
  const double most = meets(top) ? 1 : std::min(1.0, std::max(first + off_first, last + off_last));
  return with_ends(a, least, most);
}

// Bounds a function of positive numbers that falls to `least`, where the gamma function is least, and rises again.
Interval valley(RealFunction f, const Interval& a, double least) {
  if (!(a.least > 0)) return nothing_known(a);
  if (a.most <= kGammaTurns) return falling(f, a);
  return with_ends(a, a.least >= kGammaTurns ? f(a.least) : least, std::max(f(a.least), f(a.most)));
}

double of_lane(Scalar<double> (*f)(Scalar<double>), double x) { return f(Scalar<double>(x)).v; }

}  // namespace

Interval exp(const Interval& a) { return unsigned_of(rising([](double x) { return std::exp(x); }, as_exponent(a))); }
Interval exp2(const Interval& a) { return unsigned_of(rising([](double x) { return std::exp2(x); }, as_exponent(a))); }
Interval exp2_minus(const Interval& a) { return exp2(-a); }
Interval expm1(const Interval& a) { return rising([](double x) { return std::expm1(x); }, as_exponent(a)); }
Interval log(const Interval& a) { return rising([](double x) { return std::log(x); }, a, 0); }
Interval log1p(const Interval& a) { return rising([](double x) { return std::log1p(x); }, a, -1); }

// Whole exponents serve numbers of any sign, others such as are not negative.
Interval pow(const Interval& a, const Interval& b) {
  if (b.most < 0) return Interval(1.0) / pow(a, -b);
  if (!b.is_number()) {
    if (!(a.least > 0 || (a.least == 0 && b.least > 0))) return nothing_known(a);
    return exp(b * log(a));
  }
  const double n = b.least;
  if (n == 0) return with_ends(a, 1, 1);
  const bool whole = n == std::floor(n), even = whole && n == 2 * std::floor(n / 2);
  if (a.least < 0 && !whole) return nothing_known(a);
  const Interval base = even ? abs(a) : a;
  const auto power = [&](double x) { return x == 1 || x == 0 ? x : std::pow(x, n); };
  return as_power(with_ends(a, power(base.least), power(base.most)));
}

Interval sin(const Interval& a) { return wave([](double x) { return std::sin(x); }, a, kTurn / 4, kTurn); }
Interval cos(const Interval& a) { return wave([](double x) { return std::cos(x); }, a, 0, kTurn); }
Interval sinpi(const Interval& a) { return wave([](double x) { return of_lane(sinpi, x); }, a, 0.5, 2); }
Interval cospi(const Interval& a) { return wave([](double x) { return of_lane(cospi, x); }, a, 0, 2); }

Interval tanh(const Interval& a) { return rising([](double x) { return std::tanh(x); }, a); }
Interval sinh(const Interval& a) { return rising([](double x) { return std::sinh(x); }, as_exponent(a)); }
Interval cosh(const Interval& a) { return rising([](double x) { return std::cosh(x); }, as_exponent(abs(a))); }
Interval asinh(const Interval& a) { return rising([](double x) { return std::asinh(x); }, a); }
Interval acosh(const Interval& a) { return rising([](double x) { return std::acosh(x); }, a, 1); }
Interval atanh(const Interval& a) { return rising([](double x) { return std::atanh(x); }, a, -1, 1); }
Interval asin(const Interval& a) { return rising([](double x) { return std::asin(x); }, a, -1, 1); }
Interval acos(const Interval& a) { return -rising([](double x) { return -std::acos(x); }, a, -1, 1); }
Interval atan(const Interval& a) { return rising([](double x) { return std::atan(x); }, a); }
Interval atan2(const Interval& y, const Interval& x) { return x.least > 0 ? atan(y / x) : nothing_known(y); }
Interval softplus(const Interval& a) {
  const auto f = [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); };
  return unsigned_of(rising(f, as_exponent(a)));
}
Interval erf(const Interval& a) { return rising([](double x) { return std::erf(x); }, a); }
Interval erfc(const Interval& a) { return unsigned_of(falling([](double x) { return std::erfc(x); }, as_exponent(a))); }

Interval lgamma(const Interval& a) {
  return off_by(4, valley([](double x) { return of_lane(lgamma, x); }, a, kLeastLgamma));
}
Interval gamma(const Interval& a) {
  return as_power(valley([](double x) { return of_lane(gamma, x); }, a, kLeastGamma));
}
Interval digamma(const Interval& a) {
  if (!(a.least > 0)) return nothing_known(a);
  return off_by(4, rising([](double x) { return of_lane(digamma, x); }, a));
}
Interval trigamma(const Interval& a) {
  if (!(a.least > 0)) return nothing_known(a);
  return falling([](double x) { return of_lane(trigamma, x); }, a);
}

}  // namespace kernweave
