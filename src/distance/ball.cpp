// Each rule: the image of the centre, and no less than how far from it images of the ball can be.
#include "distance/ball.hpp"

#include <algorithm>

namespace kernweave {
namespace distance {
namespace {

using Complex = Ball::Complex;
using Mask = Ball::Mask;

// Rounding of a computed value, relative, and absolute where numbers are subnormal.
constexpr double kRounding = 1e-15, kSmallest = 1e-300;

Ball made(Complex centre, double radius, const Ball& a, const Ball& b) {
  return rounded({centre, radius, a.real && b.real});
}
Ball made(Complex centre, double radius, const Ball& a) { return made(centre, radius, a, a); }

Mask compared(const Ball& a, const Ball& b, bool always, bool never) {
  if (!a.real || !b.real || !a.known() || !b.known()) return Mask::nowhere;
  return always ? Mask::yes : never ? Mask::no : Mask::unknown;
}

// The branch cut of logarithm and root: does the ball keep away from real numbers that are not positive?
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
  // One after the other: the product of large sizes has no number.
  return made(1.0 / a.centre, a.radius / far / (far - a.radius), a);
}

Mask operator&&(Mask a, Mask b) {
  if (a.answer() == Mask::no || b.answer() == Mask::no) return Mask::no;
  if (a.answer() == Mask::nowhere || b.answer() == Mask::nowhere) return Mask::nowhere;
  return a.answer() == Mask::yes && b.answer() == Mask::yes ? Mask::yes : Mask::unknown;
}
Mask operator||(Mask a, Mask b) { return !(!a && !b); }
Mask operator!(Mask a) {
  return a.answer() == Mask::yes ? Mask::no : a.answer() == Mask::no ? Mask::yes : a;
}

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
  // If e is too small for all of its digits, the rest may be far larger than e. The ball is then around 0.
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
// The sum of two roots is no shorter than either.
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

}  // namespace distance
}  // namespace kernweave
