// Computes operations and tables on balls: a result has the image of the centre, and a radius that is no less than the
// distance of any other image from it.
#include "distance/ball.hpp"

#include <algorithm>
#include <cmath>

#include "distance/radial_table.hpp"
#include "expr/on_lane.hpp"
#include "expr/table.hpp"
#include "kernweave/elementary.hpp"
#include "kernweave/op/radial_table.hpp"

namespace kernweave {
namespace distance {
namespace {

using Complex = Ball::Complex;
using Mask = Ball::Mask;

// The rounding error of a computed value: relative, and absolute for subnormal numbers.
constexpr double kRounding = 1e-15, kSmallest = 1e-300;

Ball made(Complex centre, double radius, const Ball& a, const Ball& b) {
  return rounded({centre, radius, a.real && b.real});
}
Ball made(Complex centre, double radius, const Ball& a) { return made(centre, radius, a, a); }

Mask compared(const Ball& a, const Ball& b, bool always, bool never) {
  if (!a.real || !b.real || !a.known() || !b.known()) return Mask::nowhere;
  return always ? Mask::yes : never ? Mask::no : Mask::unknown;
}

// Tells whether the ball avoids the branch cut of logarithm and root: real numbers that are not positive.
bool leaves_cut(const Ball& a) {
  return (a.centre.real() > 0 ? size_of(a.centre) : std::abs(a.centre.imag())) > a.radius;
}

Ball whole_power(const Ball& a, double times) {
  Ball power(1.0);
  for (int k = 0; k < std::abs(times); ++k) power = power * a;
  return times < 0 ? inverse(power) : power;
}

}  // namespace

Ball rounded(const Ball& a) {
  const double wider = a.radius + kRounding * (size_of(a.centre) + a.radius) + kSmallest;
  return std::isfinite(wider) ? Ball(a.centre, wider, a.real) : Ball::nowhere();
}
Ball inverse(const Ball& a) {
  const double far = size_of(a.centre);
  if (!(far > a.radius)) return Ball::nowhere();
  // Divides twice, since the product of two large sizes overflows.
  return made(1.0 / a.centre, a.radius / far / (far - a.radius), a);
}

Mask operator&&(Mask a, Mask b) {
  if (a.answer() == Mask::no || b.answer() == Mask::no) return Mask::no;
  if (a.answer() == Mask::nowhere || b.answer() == Mask::nowhere) return Mask::nowhere;
  return a.answer() == Mask::yes && b.answer() == Mask::yes ? Mask::yes : Mask::unknown;
}
Mask operator||(Mask a, Mask b) { return !(!a && !b); }
Mask operator!(Mask a) { return a.answer() == Mask::yes ? Mask::no : a.answer() == Mask::no ? Mask::yes : a; }

Ball Ball::between(double least, double most) {
  const double centre = least / 2 + most / 2;
  Ball d(centre, std::max(most - centre, centre - least), true);
  while (d.known() && (d.least() > least || d.most() < most)) d.radius = std::nextafter(d.radius, HUGE_VAL);
  return d.known() ? d : nowhere();
}

Ball operator+(const Ball& a, const Ball& b) { return made(a.centre + b.centre, a.radius + b.radius, a, b); }
Ball operator-(const Ball& a, const Ball& b) { return made(a.centre - b.centre, a.radius + b.radius, a, b); }
Ball operator-(const Ball& a) { return {-a.centre, a.radius, a.real}; }
Ball operator*(const Ball& a, const Ball& b) {
  if (!a.known() || !b.known()) return Ball::nowhere();
  if (a.is_nothing() || b.is_nothing()) return {0, 0, a.real && b.real};
  const double spread = size_of(a.centre) * b.radius + size_of(b.centre) * a.radius + a.radius * b.radius;
  return made(a.centre * b.centre, spread, a, b);
}
Ball operator/(const Ball& a, const Ball& b) { return a * inverse(b); }
Ball square(const Ball& a) { return a * a; }

Mask operator<(const Ball& a, const Ball& b) { return compared(a, b, a.most() < b.least(), a.least() >= b.most()); }
Mask operator<=(const Ball& a, const Ball& b) { return compared(a, b, a.most() <= b.least(), a.least() > b.most()); }
Mask operator==(const Ball& a, const Ball& b) {
  if (a.known() && b.known() && size_of(a.centre - b.centre) > a.radius + b.radius) return Mask::no;
  return compared(a, b, a.radius == 0 && b.radius == 0, false);
}
Mask differs(const Ball& a, const Ball& b) { return !(a == b); }
Mask truth(const Ball& a) { return !(a == Ball(0.0)); }
Mask is_nan(const Ball& a) { return a.known() ? Mask::no : Mask::nowhere; }
Ball select(Mask test, const Ball& yes, const Ball& no) {
  if (test.answer() == Mask::yes) return yes;
  if (test.answer() == Mask::no) return no;
  if (test.answer() == Mask::nowhere || !yes.real || !no.real || !yes.known() || !no.known()) return Ball::nowhere();
  return Ball::between(std::min(yes.least(), no.least()), std::max(yes.most(), no.most()));
}

Ball abs(const Ball& a) { return a.real ? select(a < Ball(0.0), -a, a) : Ball::nowhere(); }
Ball nearest(const Ball& a) { return a.real ? Ball(a.centre, a.radius + 0.5, true) : Ball::nowhere(); }

Ball exp(const Ball& a) {
  const Complex e = std::exp(a.centre);
  // If e is too small to keep all its digits, other values may be far larger than e. The ball is then around 0.
  if (size_of(e) < kSmallest) return made(0, std::exp(a.centre.real() + a.radius), a);
  return made(e, size_of(e) * std::expm1(a.radius), a);
}
Ball exp2(const Ball& a) { return exp(a * Ball(0.6931471805599453)); }
Ball exp2_minus(const Ball& a) { return exp2(-a); }
Ball expm1(const Ball& a) { return exp(a) - Ball(1.0); }
Ball log(const Ball& a) {
  if (!leaves_cut(a)) return Ball::nowhere();
  return made(std::log(a.centre), -std::log1p(-a.radius / size_of(a.centre)), a);
}
Ball log1p(const Ball& a) { return log(Ball(1.0) + a); }
// Uses |sqrt(z) - sqrt(c)| = |z - c| / |sqrt(z) + sqrt(c)| and |sqrt(z) + sqrt(c)| >= |sqrt(c)|.
Ball sqrt(const Ball& a) {
  if (a.real && a.least() >= 0) return rounded(Ball::between(std::sqrt(a.least()), std::sqrt(a.most())));
  if (!leaves_cut(a)) return Ball::nowhere();
  const Complex root = std::sqrt(a.centre);
  return made(root, a.radius / size_of(root), a);
}
Ball inverse_sqrt(const Ball& a) { return inverse(sqrt(a)); }
Ball rsqrt(const Ball& a) { return inverse_sqrt(a); }
Ball sin(const Ball& a) {
  const double along = std::cosh(a.radius) - 1, across = std::sinh(a.radius);
  const Complex s = std::sin(a.centre), c = std::cos(a.centre);
  return made(s, size_of(s) * along + size_of(c) * across, a);
}
Ball cos(const Ball& a) { return sin(a + Ball(1.5707963267948966)); }
Ball sinh(const Ball& a) { return (exp(a) - exp(-a)) * Ball(0.5); }
Ball cosh(const Ball& a) { return (exp(a) + exp(-a)) * Ball(0.5); }
Ball tanh(const Ball& a) { return Ball(1.0) - Ball(2.0) / (exp(a + a) + Ball(1.0)); }
Ball pow(const Ball& a, const Ball& b) {
  const double times = b.centre.real();
  if (b.radius == 0 && times == std::round(times) && std::abs(times) <= 64) return whole_power(a, times);
  if (a.real && a.least() >= 0 && b.radius == 0 && times > 0)
    return rounded(Ball::between(std::pow(a.least(), times), std::pow(a.most(), times)));
  return exp(b * log(a));
}

// --- slopes ---------------------------------------------------------------------------------------------------------
// Bounds by the derivative: on a ball, an analytic function differs from its value at the centre by at most the radius
// times the largest |derivative|. On intervals of real numbers, a monotone function has its extremes at the ends.

namespace {

using Complex = Ball::Complex;

constexpr double kTermOfRounding = 1e-15;

Ball by_slope(const Ball& value, const Ball& slope, const Ball& a) {
  if (!value.known() || !slope.known()) return Ball::nowhere();
  return rounded({value.centre, value.radius + a.radius * slope.size(), a.real});
}
Ball by_slope(Complex value, const Ball& slope, const Ball& a) {
  return by_slope(rounded({value, 0, false}), slope, a);
}

// Returns the ball of an increasing function that is defined from `least` to `most` only.
template <class F>
Ball rising(F f, const Ball& a, double least = -HUGE_VAL, double most = HUGE_VAL) {
  if (!a.known() || a.least() < least || a.most() > most) return Ball::nowhere();
  return rounded(Ball::between(f(a.least()), f(a.most())));
}

// Tells whether the ball avoids the branch cuts of inverse sine and similar functions: real x with |x| >= 1.
bool leaves_real_ends(Complex centre, double radius) {
  const double beyond = std::max(0.0, 1 - std::abs(centre.real()));
  return std::hypot(beyond, centre.imag()) > radius;
}
// Tells whether the ball avoids the same branch cuts times i.
bool leaves_imaginary_ends(const Ball& a) { return leaves_real_ends({a.centre.imag(), a.centre.real()}, a.radius); }

// Computes erf(z) near 0: exp(-z^2) times a series, with a bound of the rounding error of each term.
Ball erf_near(Complex z) {
  const Complex square = z * z, e = std::exp(-square);
  const double size = std::norm(z);
  Complex term = 2 / std::sqrt(kPi), sum = 0;
  double off = 0;
  for (int n = 0; n < 1000; ++n) {
    sum += term;
    const double here = std::abs(term);
    off += (n + 2) * kTermOfRounding * here;
    // Each later term is less than half as large as the term before it.
    if (2 * size < n && here < kTermOfRounding * kTermOfRounding) break;
    term *= 2.0 * square / (2 * n + 3.0);
  }
  const double scale = std::abs(e) * std::abs(z);
  return rounded({z * sum * e, scale * (2 * off + (size + 4) * kTermOfRounding * std::abs(sum)), false});
}
// Computes erf(z). Farther from 0, |erfc(z)| <= |exp(-z^2)| if Re z >= 0.
Ball erf_at(Complex z) {
  constexpr double kNear = 5;
  if (z.real() < 0) return -erf_at(-z);
  if (std::abs(z) < kNear) return erf_near(z);
  return rounded({1, exp(Ball(-z * z, kTermOfRounding * std::norm(z), false)).size(), false});
}

// Computes log(1 + z) with all digits, even if z is small.
Complex log_behind_one(Complex z) {
  if (std::abs(z) > 0.5) return std::log(1.0 + z);
  return {std::log1p(z.real() * (2 + z.real()) + z.imag() * z.imag()) / 2, std::atan2(z.imag(), 1 + z.real())};
}

const Ball& smaller(const Ball& a, const Ball& b) { return a.size() < b.size() ? a : b; }

}  // namespace

Ball sinpi(const Ball& a) { return sin(a * Ball(kPi)); }
Ball cospi(const Ball& a) { return cos(a * Ball(kPi)); }

Ball atan(const Ball& a) {
  if (a.real) return rising([](double x) { return std::atan(x); }, a);
  if (!leaves_imaginary_ends(a)) return Ball::nowhere();
  return by_slope(std::atan(a.centre), inverse(Ball(1.0) + a * a), a);
}
Ball asinh(const Ball& a) {
  if (a.real) return rising([](double x) { return std::asinh(x); }, a);
  if (!leaves_imaginary_ends(a)) return Ball::nowhere();
  return by_slope(std::asinh(a.centre), inverse(sqrt(Ball(1.0) + a * a)), a);
}
Ball asin(const Ball& a) {
  if (a.real) return rising([](double x) { return std::asin(x); }, a, -1, 1);
  if (!leaves_real_ends(a.centre, a.radius)) return Ball::nowhere();
  return by_slope(std::asin(a.centre), inverse(sqrt(Ball(1.0) - a * a)), a);
}
Ball acos(const Ball& a) { return Ball(kPi / 2) - asin(a); }
Ball atanh(const Ball& a) {
  if (a.real) return rising([](double x) { return std::atanh(x); }, a, -1, 1);
  if (!leaves_real_ends(a.centre, a.radius)) return Ball::nowhere();
  return by_slope(std::atanh(a.centre), inverse(Ball(1.0) - a * a), a);
}
// The branch cut, real numbers below 1, is in the branch cut of sqrt(a - 1).
Ball acosh(const Ball& a) {
  if (a.real) return rising([](double x) { return std::acosh(x); }, a, 1);
  const Ball below = sqrt(a - Ball(1.0)), above = sqrt(a + Ball(1.0));
  return by_slope(std::acosh(a.centre), inverse(below * above), a);
}

// Computes log(1 + exp(z)) for |Im z| < pi: neither it nor z + log(1 + exp(-z)) has a cut there, so both are equal.
Ball softplus(const Ball& a) {
  const auto value = [](auto x, double along) {
    return along > 0 ? x + log_behind_one(std::exp(-x)) : log_behind_one(std::exp(x));
  };
  if (a.real) return rising([](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }, a);
  if (!(std::abs(a.centre.imag()) + a.radius < kPi)) return Ball::nowhere();
  const bool right = a.centre.real() > 0;
  const Ball e = exp(right ? -a : a), part = inverse(Ball(1.0) + e);
  return by_slope(value(a.centre, a.centre.real()), right ? part : e * part, a);
}

Ball erf(const Ball& a) {
  if (a.real) return rising([](double x) { return std::erf(x); }, a);
  if (!a.known()) return a;
  return by_slope(erf_at(a.centre), exp(-(a * a)) * Ball(2 / std::sqrt(kPi)), a);
}
Ball erfc(const Ball& a) {
  if (a.real) return -rising([](double x) { return -std::erfc(x); }, a);
  const Ball other = Ball(1.0) - erf(a);
  if (!(a.centre.real() >= a.radius)) return other;
  return smaller(rounded({0, exp(-(a * a)).size(), false}), other);
}

// Returns an operation of ops.def on balls. An operation that is not element-wise has no bounds.
BoundedFn bounded(Op op) {
  if (row(op).form == Form::elementwise) return on_lane<Ball>(op);
  return [](const Ball*) { return Ball::nowhere(); };
}

// --- tables ---------------------------------------------------------------------------------------------------------
// Bounds the values of a table: by a known property of the function, or by the sizes of its coefficients.

namespace {

int pole_of(const std::vector<double>& table, int order) {
  return static_cast<int>(table[static_cast<std::size_t>(radial::kHead * (1 + order) + radial::kPole)]);
}

// Bounds the values of the rows between two numbers by the sizes of their coefficients.
Ball range_of_rows(const std::vector<double>& table, int order, double least, double most) {
  const auto place = radial::TableOrder<double>::of([&](int k) { return table[static_cast<std::size_t>(k)]; },
                                               static_cast<long long>(table.size()), order);
  const auto row_of = [&](double s) {
    const double inside = std::min(std::max(s, place.least), place.most);
    return (radial::bits_of(inside) >> radial::TableOrder<double>::kShift) - place.before;
  };
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (long long row = row_of(least), last = row_of(most); row <= last; ++row) {
    const double* const c = table.data() + place.first + row * radial::kTerms;
    double rest = 0, power = 1;
    for (int k = 1; k < radial::kTerms; ++k) rest += std::abs(c[k]) * (power *= 0.5 / radial::kSegments);
    low = std::min(low, c[0] - rest);
    high = std::max(high, c[0] + rest);
  }
  return low == high ? Ball({low, 0}, 0, true) : rounded(Ball::between(low, high));
}

}  // namespace

Ball bound_of_look_up(const std::vector<double>& table, int order, const Ball& square) {
  if (!square.known()) return Ball::nowhere();
  // Squared distances are not negative, even if rounding has made the end of an interval negative.
  const double least = square.real ? std::max(square.least(), 0.0) : square.least();
  const bool infinite = pole_of(table, order) > 0 && least <= 0;
  if (least < 0 || infinite) return Ball::nowhere();
  switch (static_cast<TableBounds::Evidence>(static_cast<int>(table[0]))) {
    case TableBounds::mixture: {
      // The function (-1)^k f^(k) is a mixture of Gaussians, too, so it decreases.
      const double near = look_up(table, order, least);
      if (!square.real) return rounded({0, std::abs(near), false});
      const double far = look_up(table, order, std::max(square.most(), least));
      return rounded(Ball::between(std::min(near, far), std::max(near, far)));
    }
    case TableBounds::by_matern: {
      // phi(z) is the mean of exp(-z w) over a density of w, whose logarithm has a derivative by nu of variance
      // trigamma(nu): so |d phi / d nu|^2 <= trigamma(nu) phi(2 Re z). From s = 2 nu r comes the term z phi'(z) / nu.
      if (order > 0 || (pole_of(table, 3) > 0 && least <= 0)) return Ball::nowhere();
      const double by_density = std::sqrt(table[1] * std::max(0.0, look_up(table, 2, 2 * least)));
      const double by_distance = square.size() * std::abs(look_up(table, 3, least)) * table[2];
      return rounded({0, by_density + by_distance, square.real});
    }
    default: return square.real && pole_of(table, order) == 0 ? range_of_rows(table, order, least, square.most())
                                                              : Ball::nowhere();
  }
}

}  // namespace distance
}  // namespace kernweave
