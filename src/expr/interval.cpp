// Arithmetic: ends are moved outwards by what rounding may add, unless their own rounding shows that there is none.
// Computed values round to the same side of such an end in any precision that has it.
#include "expr/interval.hpp"

#include <algorithm>
#include <limits>

namespace kernweave {
namespace {

using IntervalMask = Interval::Mask;

// An end as it was computed, and by how much more it should be, whatever the sign: 0 if it is exact.
struct End {
  double value, missing;
};

End sum(double a, double b) {
  const double s = a + b, of_b = s - a;
  return {s, std::isfinite(s) ? (a - (s - of_b)) + (b - of_b) : 0};
}
// No number is as large as an infinite end, so that 0 times it is 0.
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
// Numbers of rows that are compared are small whole ones.
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

// NaN would be neither.
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

// Rounding leads to 0, but not beyond.
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

// The quotient may have been rounded to the next whole number, which it is not of whole numbers that are exact.
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
// 0 at 0, and large next to it.
Interval rsqrt(const Interval& a) {
  if (a.least > 0 || a.least < 0) return inverse_sqrt(a);
  return a.most == 0 ? a : of_two(Interval(0, HUGE_VAL), a, a);
}

}  // namespace kernweave
