// Arithmetic of intervals: ends are moved outwards by the largest rounding error, unless an end is shown to be exact.
// Computed values round to the same side of an exact end in any precision that has it.
#include "expr/interval.hpp"

#include <algorithm>
#include <limits>

#include "expr/on_lane.hpp"
#include "kernweave/special.hpp"

namespace kernweave {
namespace {

using IntervalMask = Interval::Mask;

// An end as it was computed, and its rounding error, whose sign does not matter: 0 if the end is exact.
struct End {
  double value, missing;
};

End sum(double a, double b) {
  const double s = a + b, of_b = s - a;
  return {s, std::isfinite(s) ? (a - (s - of_b)) + (b - of_b) : 0};
}
// Every number is smaller than an infinite end, so that 0 times an infinite end is 0.
End product(double a, double b) {
  if (a == 0 || b == 0) return {0, 0};
  const double p = a * b;
  return {p, std::isfinite(p) ? std::fma(a, b, -p) : 0};
}
End quotient(double a, double b) {
  if (a == 0 || std::isinf(b)) return {0, 0};
  const double q = a / b;
  return {q, std::isfinite(q) ? std::fma(q, b, -a) : 0};
}

bool is_exact(const End& end, double off) {
  const bool fits = off == kOffDouble || static_cast<double>(static_cast<float>(end.value)) == end.value;
  return end.missing == 0 && fits;
}

// Completes the interval made of two arguments: whether values may be NaN, infinite or -0, and how far ends are off.
Interval of_two(Interval made, const Interval& a, const Interval& b) {
  made.nan = made.nan || a.nan || b.nan;
  made.pole = made.pole || a.pole || b.pole;
  made.whole = false;
  made.minus_zero = made.minus_zero || a.minus_zero || b.minus_zero;
  made.off = std::max(a.off, b.off);
  return made;
}
Interval from_ends(const End& least, const End& most, const Interval& a, const Interval& b) {
  const double low = std::isnan(least.value) ? -HUGE_VAL : least.value,
               high = std::isnan(most.value) ? HUGE_VAL : most.value;
  const Interval made = of_two(Interval(low, high), a, b);
  return rounded(made, is_exact(least, made.off), is_exact(most, made.off));
}
Interval from_corners(const Interval& a, const Interval& b, End (*f)(double, double)) {
  const End corners[] = {f(a.least, b.least), f(a.least, b.most), f(a.most, b.least), f(a.most, b.most)};
  Interval all = from_ends(corners[0], corners[0], a, b);
  for (const End& corner : corners) all = joined(all, from_ends(corner, corner, a, b));
  return all;
}

Interval whole_of(const Interval& a, double (*f)(double)) {
  Interval made = a.with(f(a.least), f(a.most));
  made.whole = true;
  made.minus_zero = a.minus_zero || a.least < 0;
  return made;
}

bool may_make_minus_zero(const Interval& made, const Interval& a, const Interval& b) {
  return made.has(0) && (a.least < 0 || b.least < 0 || a.minus_zero || b.minus_zero);
}

int next_mark() {
  thread_local int marks = 0;
  return marks = marks == std::numeric_limits<int>::max() ? 1 : marks + 1;
}
// Returns the mark of a number. Constants of rows that are compared are small whole numbers, with fixed marks.
int mark_of(double number) {
  return number >= 0 && number < 8 && number == std::floor(number) ? -1 - static_cast<int>(number) : next_mark();
}

}  // namespace

Interval::Interval(double x) : Interval(x, x) {
  minus_zero = minus_zero || (x == 0 && std::signbit(x));
  mark = mark_of(x);
}
Interval::Interval(double least, double most)
    : least(least), most(most), whole(least == most && least == std::floor(least)), mark(next_mark()) {
  if (!(least <= most)) *this = anything();
}
Interval Interval::anything() {
  Interval all(-HUGE_VAL, HUGE_VAL);
  all.nan = all.pole = all.minus_zero = true;
  return all;
}
Interval Interval::with(double other_least, double other_most) const {
  Interval made = *this;
  made.least = other_least;
  made.most = other_most;
  made.mark = next_mark();
  return made;
}

// A NaN would be neither the lesser nor the greater.
bool Interval::Mask::chooses_lesser(const Interval& yes, const Interval& no) const {
  return less_ != more_ && yes.mark == less_ && no.mark == more_ && !yes.nan && !no.nan;
}
bool Interval::Mask::chooses_greater(const Interval& yes, const Interval& no) const {
  return less_ != more_ && yes.mark == more_ && no.mark == less_ && !yes.nan && !no.nan;
}

Interval joined(const Interval& a, const Interval& b) {
  Interval both = of_two(Interval(std::min(a.least, b.least), std::max(a.most, b.most)), a, b);
  both.whole = a.whole && b.whole;
  return both;
}

// Widens an interval. Rounding may move an end to 0, but not beyond.
Interval rounded(const Interval& a, bool least_is_exact, bool most_is_exact) {
  const double smallest = a.off == kOffDouble ? 1e-300 : 1e-36;
  const auto wider = [&](double end) { return std::isinf(end) ? 0 : a.off * std::fabs(end) + smallest; };
  Interval made = a;
  if (!least_is_exact) made.least = std::max(a.least > 0 ? 0 : -HUGE_VAL, a.least - wider(a.least));
  if (!most_is_exact) made.most = std::min(a.most < 0 ? 0 : HUGE_VAL, a.most + wider(a.most));
  return made;
}

Interval operator+(const Interval& a, const Interval& b) {
  Interval made = from_ends(sum(a.least, b.least), sum(a.most, b.most), a, b);
  const auto opposite = [](const Interval& x, const Interval& y) { return x.most == HUGE_VAL && y.least == -HUGE_VAL; };
  made.nan = made.nan || ((a.pole || b.pole) && (opposite(a, b) || opposite(b, a)));
  made.whole = a.whole && b.whole;
  made.minus_zero = a.minus_zero && b.minus_zero;
  return made;
}
Interval operator-(const Interval& a) {
  Interval made = a.with(-a.most, -a.least);
  made.minus_zero = a.has(0);
  return made;
}
Interval operator-(const Interval& a, const Interval& b) { return a + -b; }
Interval operator*(const Interval& a, const Interval& b) {
  Interval made = from_corners(a, b, product);
  made.nan = made.nan || (a.pole && b.has(0)) || (b.pole && a.has(0));
  made.whole = a.whole && b.whole;
  made.minus_zero = may_make_minus_zero(made, a, b);
  return made;
}
Interval operator/(const Interval& a, const Interval& b) {
  if (b.is_number(0) || (b.has(0) && (b.least < 0 || b.minus_zero))) return of_two(Interval::anything(), a, b);
  Interval made = from_corners(a, b.least == 0 ? b.with(0.0, b.most) : b, quotient);
  made.nan = made.nan || (b.has(0) && a.has(0)) || (a.pole && b.pole);
  made.pole = made.pole || b.has(0);
  made.minus_zero = may_make_minus_zero(made, a, b);
  return made;
}
Interval square(const Interval& a) {
  const Interval size = abs(a);
  Interval made = from_ends(product(size.least, size.least), product(size.most, size.most), a, a);
  made.whole = a.whole;
  made.minus_zero = false;
  return made;
}

IntervalMask operator<(const Interval& a, const Interval& b) {
  return IntervalMask::of(a.most < b.least && !a.nan && !b.nan, a.least >= b.most, a.mark, b.mark);
}
IntervalMask operator<=(const Interval& a, const Interval& b) {
  return IntervalMask::of(a.most <= b.least && !a.nan && !b.nan, a.least > b.most, a.mark, b.mark);
}
IntervalMask operator==(const Interval& a, const Interval& b) {
  return IntervalMask::of(a.is_number() && b.is_number(a.least), a.most < b.least || b.most < a.least);
}
IntervalMask differs(const Interval& a, const Interval& b) {
  const bool apart = a.most < b.least || b.most < a.least;
  return IntervalMask::of(apart && !a.nan && !b.nan, a.least == a.most && b.least == b.most && a.least == b.least);
}
IntervalMask truth(const Interval& a) { return IntervalMask::of(!a.has(0), a.is_number(0)); }
IntervalMask is_nan(const Interval& a) { return IntervalMask::of(false, !a.nan); }
Interval select(IntervalMask test, const Interval& yes, const Interval& no) {
  if (test.answer() != IntervalMask::unknown) return test.answer() == IntervalMask::yes ? yes : no;
  const Interval both = joined(yes, no);
  if (test.chooses_lesser(yes, no)) return both.with(both.least, std::min(yes.most, no.most));
  if (test.chooses_greater(yes, no)) return both.with(std::max(yes.least, no.least), both.most);
  return both;
}

Interval abs(const Interval& a) {
  if (a.least >= 0 && !a.minus_zero) return a;
  Interval made = a.with(std::max({0.0, a.least, -a.most}), std::max(-a.least, a.most));
  made.minus_zero = false;
  return made;
}
Interval nearest(const Interval& a) { return whole_of(a, std::nearbyint); }
Interval floor(const Interval& a) { return whole_of(a, std::floor); }
Interval ceiling(const Interval& a) { return whole_of(a, std::ceil); }
Interval trunc(const Interval& a) { return whole_of(a, std::trunc); }

// The quotient may have been rounded to the next whole number, but not a quotient of exact whole numbers.
Interval modulo(const Interval& a, const Interval& b) {
  if (!b.is_number() || !(b.least > 0) || !a.finite()) return of_two(Interval::anything(), a, b);
  const Interval turns = floor(a / b);
  if (turns.least == turns.most) return a - b * turns;
  Interval made = of_two(Interval(0, b.most), a, b);
  made.whole = a.whole && b.whole;
  made.minus_zero = true;
  const double size = std::max(std::fabs(a.least), std::fabs(a.most)), beyond = made.off * (size + b.most);
  if (made.whole && size * made.off < 1) return made;
  made.least -= beyond;
  made.most += beyond;
  return made;
}

Interval sqrt(const Interval& a) {
  if (a.least < 0) return of_two(Interval::anything(), a, a);
  const auto root = [](double x) {
    const double r = std::sqrt(x);
    return End{r, std::isfinite(r) ? std::fma(r, r, -x) : 0};
  };
  return from_ends(root(a.least), root(a.most), a, a);
}
Interval inverse_sqrt(const Interval& a) { return Interval(1.0) / sqrt(a); }
// Bounds 1 / sqrt(x), which is 0 at 0 and large next to 0.
Interval rsqrt(const Interval& a) {
  if (a.least > 0 || a.least < 0) return inverse_sqrt(a);
  return a.most == 0 ? a : of_two(Interval(0, HUGE_VAL), a, a);
}

// --- functions -----------------------------------------------------------------------------------------------------
// Functions rise or fall between known places, so their values at the ends and at these places bound them.

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
// Widens an interval by size * off: the error is not relative to the value.
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
// Widens an interval of exponents by their error, which is a relative error of the power.
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

// Whole exponents serve numbers of any sign, other exponents numbers that are not negative.
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

// --- rows ----------------------------------------------------------------------------------------------------------
// The rows of ops.def on intervals.

IntervalFn bounded(Op op) { return on_lane<Interval>(op); }

}  // namespace kernweave
