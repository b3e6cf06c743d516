// Rules by the slope: an analytic function is off from its value at the centre by no more than the radius times the
// largest size of its derivative on the ball. On intervals of real numbers, where it rises or falls, its ends will do.
#include "distance/ball.hpp"
#include "kernweave/elementary.hpp"

namespace kernweave {
namespace distance {
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

// Returns the ball of a function that rises from `least` to `most` and is not defined beyond.
template <class F>
Ball rising(F f, const Ball& a, double least = -HUGE_VAL, double most = HUGE_VAL) {
  if (!a.known() || a.least() < least || a.most() > most) return Ball::nowhere();
  return rounded(Ball::between(f(a.least()), f(a.most())));
}

// The branch cuts of inverse sine and the like: does the ball keep away from real numbers of at least 1 in size?
bool leaves_real_ends(Complex centre, double radius) {
  const double beyond = std::max(0.0, 1 - std::abs(centre.real()));
  return std::hypot(beyond, centre.imag()) > radius;
}
// Tells whether the ball keeps away from the same branch cuts times i.
bool leaves_imaginary_ends(const Ball& a) {
  return leaves_real_ends({a.centre.imag(), a.centre.real()}, a.radius);
}

// The error function at a number: near 0 by exp(-z^2) times a series whose terms know what they are off by.
Ball erf_near(Complex z) {
  const Complex square = z * z, e = std::exp(-square);
  const double size = std::norm(z);
  Complex term = 2 / std::sqrt(kPi), sum = 0;
  double off = 0;
  for (int n = 0; n < 1000; ++n) {
    sum += term;
    const double here = std::abs(term);
    off += (n + 2) * kTermOfRounding * here;
    // Terms behind are less than half as large, one by one.
    if (2 * size < n && here < kTermOfRounding * kTermOfRounding) break;
    term *= 2.0 * square / (2 * n + 3.0);
  }
  const double scale = std::abs(e) * std::abs(z);
  return rounded({z * sum * e, scale * (2 * off + (size + 4) * kTermOfRounding * std::abs(sum)), false});
}
// Farther away, erfc(z) is no larger than exp(-z^2) where the real part is not negative.
Ball erf_at(Complex z) {
  constexpr double kNear = 5;
  if (z.real() < 0) return -erf_at(-z);
  if (std::abs(z) < kNear) return erf_near(z);
  return rounded({1, exp(Ball(-z * z, kTermOfRounding * std::norm(z), false)).size(), false});
}

// log(1 + z) with all digits, however small z is.
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
// The logarithm of the real numbers below 1 is another on either side of them.
Ball acosh(const Ball& a) {
  if (a.real) return rising([](double x) { return std::acosh(x); }, a, 1);
  const Ball below = sqrt(a - Ball(1.0)), above = sqrt(a + Ball(1.0));
  return by_slope(std::acosh(a.centre), inverse(below * above), a);
}

// log(1 + exp(z)) in the strip where neither it nor z + log(1 + exp(-z)) has a cut, so that they are the same.
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

}  // namespace distance
}  // namespace kernweave
