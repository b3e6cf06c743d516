// Each rule: the image of the centre, and no less than how far from it images of the disc can be.
#include "distance/disc.hpp"

#include <algorithm>

namespace kernweave {
namespace distance {
namespace {

using Complex = Disc::Complex;
using Mask = Disc::Mask;

// What is computed is off by some last digits, and of the smallest numbers there are fewer.
constexpr double kRounding = 1e-15, kSmallest = 1e-300;

Disc made(Complex centre, double radius, const Disc& a, const Disc& b) {
  return rounded({centre, radius, a.real && b.real});
}
Disc made(Complex centre, double radius, const Disc& a) { return made(centre, radius, a, a); }

Mask compared(const Disc& a, const Disc& b, bool always, bool never) {
  if (!a.real || !b.real || !a.known() || !b.known()) return Mask::nowhere;
  return always ? Mask::yes : never ? Mask::no : Mask::unknown;
}

// Does it keep away from the real numbers that are not positive?
bool leaves_cut(const Disc& a) {
  return (a.centre.real() > 0 ? size_of(a.centre) : std::abs(a.centre.imag())) > a.radius;
}

Disc whole_power(const Disc& a, double times) {
  Disc power(1.0);
  for (int k = 0; k < std::abs(times); ++k) power = power * a;
  return times < 0 ? inverse(power) : power;
}

}  // namespace

Disc rounded(const Disc& a) {
  const double wider = a.radius + kRounding * (size_of(a.centre) + a.radius) + kSmallest;
  return std::isfinite(wider) ? Disc(a.centre, wider, a.real) : Disc::nowhere();
}
Disc inverse(const Disc& a) {
  const double far = size_of(a.centre);
  if (!(far > a.radius)) return Disc::nowhere();
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

Disc Disc::between(double least, double most) {
  const double centre = least / 2 + most / 2;
  Disc d(centre, std::max(most - centre, centre - least), true);
  while (d.known() && (d.least() > least || d.most() < most)) d.radius = std::nextafter(d.radius, HUGE_VAL);
  return d.known() ? d : nowhere();
}

Disc operator+(const Disc& a, const Disc& b) { return made(a.centre + b.centre, a.radius + b.radius, a, b); }
Disc operator-(const Disc& a, const Disc& b) { return made(a.centre - b.centre, a.radius + b.radius, a, b); }
Disc operator-(const Disc& a) { return {-a.centre, a.radius, a.real}; }
Disc operator*(const Disc& a, const Disc& b) {
  if (!a.known() || !b.known()) return Disc::nowhere();
  if (a.is_nothing() || b.is_nothing()) return {0, 0, a.real && b.real};
  const double spread = size_of(a.centre) * b.radius + size_of(b.centre) * a.radius + a.radius * b.radius;
  return made(a.centre * b.centre, spread, a, b);
}
Disc operator/(const Disc& a, const Disc& b) { return a * inverse(b); }
Disc square(const Disc& a) { return a * a; }

Mask operator<(const Disc& a, const Disc& b) { return compared(a, b, a.most() < b.least(), a.least() >= b.most()); }
Mask operator<=(const Disc& a, const Disc& b) { return compared(a, b, a.most() <= b.least(), a.least() > b.most()); }
Mask operator==(const Disc& a, const Disc& b) {
  if (a.known() && b.known() && size_of(a.centre - b.centre) > a.radius + b.radius) return Mask::no;
  return compared(a, b, a.radius == 0 && b.radius == 0, false);
}
Mask differs(const Disc& a, const Disc& b) { return !(a == b); }
Mask truth(const Disc& a) { return !(a == Disc(0.0)); }
Mask is_nan(const Disc& a) { return a.known() ? Mask::no : Mask::nowhere; }
Disc select(Mask test, const Disc& yes, const Disc& no) {
  if (test.answer() == Mask::yes) return yes;
  if (test.answer() == Mask::no) return no;
  if (test.answer() == Mask::nowhere || !yes.real || !no.real || !yes.known() || !no.known()) return Disc::nowhere();
  return Disc::between(std::min(yes.least(), no.least()), std::max(yes.most(), no.most()));
}

Disc abs(const Disc& a) { return a.real ? select(a < Disc(0.0), -a, a) : Disc::nowhere(); }
Disc nearest(const Disc& a) { return a.real ? Disc(a.centre, a.radius + 0.5, true) : Disc::nowhere(); }

Disc exp(const Disc& a) {
  const Complex e = std::exp(a.centre);
  // Of a centre too small for all of its digits, the rest may be far larger.
  if (size_of(e) < kSmallest) return made(0, std::exp(a.centre.real() + a.radius), a);
  return made(e, size_of(e) * std::expm1(a.radius), a);
}
Disc exp2(const Disc& a) { return exp(a * Disc(0.6931471805599453)); }
Disc exp2_minus(const Disc& a) { return exp2(-a); }
Disc expm1(const Disc& a) { return exp(a) - Disc(1.0); }
Disc log(const Disc& a) {
  if (!leaves_cut(a)) return Disc::nowhere();
  return made(std::log(a.centre), -std::log1p(-a.radius / size_of(a.centre)), a);
}
Disc log1p(const Disc& a) { return log(Disc(1.0) + a); }
// The sum of two roots is no shorter than either.
Disc sqrt(const Disc& a) {
  if (a.real && a.least() >= 0) return rounded(Disc::between(std::sqrt(a.least()), std::sqrt(a.most())));
  if (!leaves_cut(a)) return Disc::nowhere();
  const Complex root = std::sqrt(a.centre);
  return made(root, a.radius / size_of(root), a);
}
Disc inverse_sqrt(const Disc& a) { return inverse(sqrt(a)); }
Disc rsqrt(const Disc& a) { return inverse_sqrt(a); }
Disc sin(const Disc& a) {
  const double along = std::cosh(a.radius) - 1, across = std::sinh(a.radius);
  const Complex s = std::sin(a.centre), c = std::cos(a.centre);
  return made(s, size_of(s) * along + size_of(c) * across, a);
}
Disc cos(const Disc& a) { return sin(a + Disc(1.5707963267948966)); }
Disc sinh(const Disc& a) { return (exp(a) - exp(-a)) * Disc(0.5); }
Disc cosh(const Disc& a) { return (exp(a) + exp(-a)) * Disc(0.5); }
Disc tanh(const Disc& a) { return Disc(1.0) - Disc(2.0) / (exp(a + a) + Disc(1.0)); }
Disc pow(const Disc& a, const Disc& b) {
  const double times = b.centre.real();
  if (b.radius == 0 && times == std::round(times) && std::abs(times) <= 64) return whole_power(a, times);
  if (a.real && a.least() >= 0 && b.radius == 0 && times > 0)
    return rounded(Disc::between(std::pow(a.least(), times), std::pow(a.most(), times)));
  return exp(b * log(a));
}

}  // namespace distance
}  // namespace kernweave
