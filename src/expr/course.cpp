// Bounds slopes by the rules of derivatives, which also hold between any two places: for functions with a derivative by
// the mean value theorem, for jumps by their direction. Proves trends of operations by these slopes.
#include "expr/course.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "expr/on_lane.hpp"

namespace kernweave {
namespace {

using CourseMask = Course::Mask;

constexpr double kHalfTurn = 3.14159265358979324;
const Interval kZero(0.0), kOne(1.0), kRises(0, HUGE_VAL), kFalls(-HUGE_VAL, 0);

bool is_flat(const Interval& slope) { return slope.least == 0 && slope.most == 0; }

// Returns the slopes of a function that jumps up as a value with slopes `slope` grows.
Interval jumps(const Interval& slope) {
  return is_flat(slope) ? kZero : slope.least >= 0 ? kRises : slope.most <= 0 ? kFalls : Interval::anything();
}

enum class Symmetry { none, even, odd };

Parity parity_of(const Course& a, Symmetry f) {
  if (a.parity != Parity::odd || f == Symmetry::odd) return a.parity;
  return f == Symmetry::even ? Parity::even : Parity::unknown;
}
Parity of_sum(const Course& a, const Course& b) {
  if (b.value.is_number(0)) return a.parity;
  return a.parity == b.parity ? a.parity : Parity::unknown;
}
Parity of_product(const Course& a, const Course& b) {
  if (a.parity == Parity::unknown || b.parity == Parity::unknown) return Parity::unknown;
  return a.parity == b.parity ? Parity::even : Parity::odd;
}

// Returns the course of a function of `a`, from the function's value and its derivative there.
Course chained(const Course& a, const Interval& value, const Interval& derivative, Symmetry f = Symmetry::none) {
  return {value, derivative * a.slope, parity_of(a, f)};
}
Course stepped(const Course& a, const Interval& value, Symmetry f = Symmetry::none) {
  return {value, value.is_number() ? kZero : jumps(a.slope), parity_of(a, f)};
}

bool are_even(const Course& a, const Course& b) { return a.parity == Parity::even && b.parity == Parity::even; }
CourseMask compared(const Course& a, const Course& b, Interval::Mask answer) {
  return {answer, jumps(b.slope - a.slope), are_even(a, b)};
}
Interval scaled(const Interval& a, double by) { return Interval(by) * a; }
Interval slope_of_erf(const Interval& a) { return scaled(exp(-square(a)), 1.12837916709551257); }

}  // namespace

Course::Course(const Interval& value, const Interval& slope, Parity parity)
    : value(value), slope(value.nan ? Interval::anything() : slope), parity(parity) {}

CourseMask operator&&(const CourseMask& a, const CourseMask& b) {
  const Interval::Mask answer = a.answer && b.answer;
  if (a.answer.answer() == Interval::Mask::yes) return b;
  if (b.answer.answer() == Interval::Mask::yes) return a;
  return {answer, joined(a.turns, b.turns), a.even && b.even};
}
CourseMask operator||(const CourseMask& a, const CourseMask& b) {
  const Interval::Mask answer = a.answer || b.answer;
  if (a.answer.answer() == Interval::Mask::no) return b;
  if (b.answer.answer() == Interval::Mask::no) return a;
  return {answer, joined(a.turns, b.turns), a.even && b.even};
}
CourseMask operator!(const CourseMask& a) { return {!a.answer, -a.turns, a.even}; }

CourseMask operator<(const Course& a, const Course& b) { return compared(a, b, a.value < b.value); }
CourseMask operator<=(const Course& a, const Course& b) { return compared(a, b, a.value <= b.value); }
// Compares for equality. If a moves away from b, a == b holds at first only.
CourseMask operator==(const Course& a, const Course& b) {
  const Interval apart = a.value - b.value, slope = a.slope - b.slope;
  const Interval turns = is_flat(slope)     ? kZero
                         : apart.least >= 0 ? -jumps(slope)
                         : apart.most <= 0  ? jumps(slope)
                                            : Interval::anything();
  const bool odd = a.parity == Parity::odd && (b.parity == Parity::odd || b.value.is_number(0));
  return {a.value == b.value, turns, odd || are_even(a, b)};
}
CourseMask differs(const Course& a, const Course& b) {
  CourseMask test = !(a == b);
  test.answer = differs(a.value, b.value);
  return test;
}
CourseMask truth(const Course& a) {
  CourseMask test = differs(a, Course(0.0));
  test.answer = truth(a.value);
  return test;
}
CourseMask is_nan(const Course& a) {
  return {is_nan(a.value), a.value.nan ? Interval::anything() : kZero, a.parity != Parity::unknown};
}
// Selects a value. A choice of the lesser or the greater of two values does not jump.
Course select(CourseMask test, const Course& yes, const Course& no) {
  const auto answer = test.answer.answer();
  const bool settled = answer != Interval::Mask::unknown;
  const Course& chosen = answer == Interval::Mask::yes ? yes : no;
  const Parity parity = !test.even                             ? Parity::unknown
                        : settled || yes.parity == no.parity ? chosen.parity
                                                             : Parity::unknown;
  if (settled) {
    Course found = chosen;
    found.parity = parity;
    return found;
  }
  Interval slope = joined(yes.slope, no.slope);
  if (!test.answer.chooses_lesser(yes.value, no.value) && !test.answer.chooses_greater(yes.value, no.value))
    slope = slope + test.turns * (yes.value - no.value);
  return {select(test.answer, yes.value, no.value), slope, parity};
}

Course operator+(const Course& a, const Course& b) { return {a.value + b.value, a.slope + b.slope, of_sum(a, b)}; }
Course operator-(const Course& a, const Course& b) { return {a.value - b.value, a.slope - b.slope, of_sum(a, b)}; }
Course operator-(const Course& a) { return {-a.value, -a.slope, a.parity}; }
Course operator*(const Course& a, const Course& b) {
  return {a.value * b.value, a.slope * b.value + a.value * b.slope, of_product(a, b)};
}
Course operator/(const Course& a, const Course& b) {
  const Interval quotient = a.value / b.value;
  return {quotient, (a.slope - quotient * b.slope) / b.value, of_product(a, b)};
}
Course square(const Course& a) { return chained(a, square(a.value), scaled(a.value, 2), Symmetry::even); }

Course abs(const Course& a) {
  const Interval sign = a.value.least >= 0 ? kOne : a.value.most <= 0 ? -kOne : Interval(-1, 1);
  return chained(a, abs(a.value), sign, Symmetry::even);
}
Course nearest(const Course& a) { return stepped(a, nearest(a.value), Symmetry::odd); }
Course floor(const Course& a) { return stepped(a, floor(a.value)); }
Course ceiling(const Course& a) { return stepped(a, ceiling(a.value)); }
Course trunc(const Course& a) { return stepped(a, trunc(a.value), Symmetry::odd); }
Course modulo(const Course& a, const Course& b) {
  Course found = a - b * floor(a / b);
  found.value = modulo(a.value, b.value);
  return found;
}

Course sqrt(const Course& a) { return chained(a, sqrt(a.value), scaled(inverse_sqrt(a.value), 0.5)); }
Course inverse_sqrt(const Course& a) {
  const Interval value = inverse_sqrt(a.value);
  return chained(a, value, scaled(value * square(value), -0.5));
}
Course rsqrt(const Course& a) {
  return a.value.has(0) ? chained(a, rsqrt(a.value), Interval::anything()) : inverse_sqrt(a);
}

Course exp(const Course& a) { return chained(a, exp(a.value), exp(a.value)); }
Course exp2(const Course& a) { return chained(a, exp2(a.value), exp2(a.value)); }
Course exp2_minus(const Course& a) { return exp2(-a); }
Course expm1(const Course& a) { return chained(a, expm1(a.value), exp(a.value)); }
Course log(const Course& a) { return chained(a, log(a.value), kOne / a.value); }
Course log1p(const Course& a) { return chained(a, log1p(a.value), kOne / (kOne + a.value)); }

Course pow(const Course& a, const Course& b) {
  const Interval value = pow(a.value, b.value);
  Interval slope = b.value * pow(a.value, b.value - kOne) * a.slope;
  if (!is_flat(b.slope)) slope = slope + value * log(a.value) * b.slope;
  const double n = b.value.least;
  const bool whole = b.value.is_number() && n == std::floor(n), even = whole && n == 2 * std::floor(n / 2);
  const Parity parity = parity_of(a, even ? Symmetry::even : whole ? Symmetry::odd : Symmetry::none);
  return {value, slope, b.parity == Parity::even ? parity : Parity::unknown};
}

Course sin(const Course& a) { return chained(a, sin(a.value), cos(a.value), Symmetry::odd); }
Course cos(const Course& a) { return chained(a, cos(a.value), -sin(a.value), Symmetry::even); }
Course sinpi(const Course& a) { return chained(a, sinpi(a.value), scaled(cospi(a.value), kHalfTurn), Symmetry::odd); }
Course cospi(const Course& a) { return chained(a, cospi(a.value), scaled(sinpi(a.value), -kHalfTurn), Symmetry::even); }
Course tanh(const Course& a) { return chained(a, tanh(a.value), kOne - square(tanh(a.value)), Symmetry::odd); }
Course sinh(const Course& a) { return chained(a, sinh(a.value), cosh(a.value), Symmetry::odd); }
Course cosh(const Course& a) { return chained(a, cosh(a.value), sinh(a.value), Symmetry::even); }
Course asinh(const Course& a) {
  return chained(a, asinh(a.value), inverse_sqrt(kOne + square(a.value)), Symmetry::odd);
}
Course acosh(const Course& a) { return chained(a, acosh(a.value), inverse_sqrt(square(a.value) - kOne)); }
Course atanh(const Course& a) { return chained(a, atanh(a.value), kOne / (kOne - square(a.value)), Symmetry::odd); }
Course asin(const Course& a) { return chained(a, asin(a.value), inverse_sqrt(kOne - square(a.value)), Symmetry::odd); }
Course acos(const Course& a) { return chained(a, acos(a.value), -inverse_sqrt(kOne - square(a.value))); }
Course atan(const Course& a) { return chained(a, atan(a.value), kOne / (kOne + square(a.value)), Symmetry::odd); }
Course atan2(const Course& y, const Course& x) {
  Course found = atan(y / x);
  if (x.value.least > 0) return found;
  return {atan2(y.value, x.value), Interval::anything(), Parity::unknown};
}
Course softplus(const Course& a) { return chained(a, softplus(a.value), kOne / (kOne + exp(-a.value))); }
Course erf(const Course& a) { return chained(a, erf(a.value), slope_of_erf(a.value), Symmetry::odd); }
Course erfc(const Course& a) { return chained(a, erfc(a.value), -slope_of_erf(a.value)); }
Course lgamma(const Course& a) { return chained(a, lgamma(a.value), digamma(a.value)); }
Course gamma(const Course& a) { return chained(a, gamma(a.value), gamma(a.value) * digamma(a.value)); }
Course digamma(const Course& a) { return chained(a, digamma(a.value), trigamma(a.value)); }
Course trigamma(const Course& a) {
  return chained(a, trigamma(a.value), a.value.least > 0 ? kFalls : Interval::anything());
}

// --- trends --------------------------------------------------------------------------------------------------------
// An argument's interval is cut at places where functions of rows may jump or turn: at 0, and at other arguments.
// Between two adjacent numbers, the values of the function tell the trend.

namespace {

const Interval kSizes(0, HUGE_VAL), kNumbers(-HUGE_VAL, HUGE_VAL);

// A row that runs on courses. For a fold it is one step, whose first argument is the earlier result.
using CourseFn = RowFn<Course>;

// Returns a value with a mark of its own, even if other values have an equal interval.
Course argument(const Interval& a, double slope, Parity parity) { return {a.with(a.least, a.most), slope, parity}; }

// Evaluates f where argument k varies over `at` and the other arguments are constants in `args`.
Course run(CourseFn f, const std::vector<Interval>& args, std::size_t k, const Interval& at, Parity parity) {
  std::array<Course, 4> in;
  for (std::size_t a = 0; a < args.size(); ++a)
    in[a] = a == k ? argument(at, 1, parity) : argument(args[a], 0, Parity::even);
  return f(in.data());
}

Trend trend_of(bool grows, bool falls) {
  return grows && falls ? Trend::flat : grows ? Trend::grows : falls ? Trend::falls : Trend::uneven;
}
Trend trend_of(const Interval& slope) { return trend_of(slope.least >= 0, slope.most <= 0); }

// Returns the trend between the ends of `at`.
Trend trend_of_step(CourseFn f, const std::vector<Interval>& args, std::size_t k, const Interval& at) {
  const Interval before = run(f, args, k, at.least, Parity::even).value,
                 behind = run(f, args, k, at.most, Parity::even).value;
  if (before.nan || behind.nan) return Trend::uneven;
  return trend_of(before.most <= behind.least, before.least >= behind.most);
}

std::vector<Interval> pieces_of(const std::vector<Interval>& args, std::size_t k) {
  std::vector<double> places{args[k].least, args[k].most}, cuts{0};
  for (std::size_t a = 0; a < args.size(); ++a)
    if (a != k && args[a].is_number()) cuts.push_back(args[a].least);
  for (const double cut : cuts)
    for (const double place : {std::nextafter(cut, -HUGE_VAL), cut, std::nextafter(cut, HUGE_VAL)})
      if (args[k].has(place)) places.push_back(place);
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  std::vector<Interval> pieces;
  for (std::size_t p = 1; p < places.size(); ++p) pieces.emplace_back(places[p - 1], places[p]);
  return pieces;
}

Trend trend_along(CourseFn f, const std::vector<Interval>& args, std::size_t k) {
  if (args[k].is_number()) return Trend::flat;
  const Trend whole = trend_of(run(f, args, k, args[k], Parity::even).slope);
  if (whole != Trend::uneven) return whole;
  Trend all = Trend::flat;
  for (const Interval& piece : pieces_of(args, k)) {
    Trend here = trend_of(run(f, args, k, piece, Parity::even).slope);
    if (here == Trend::uneven && std::nextafter(piece.least, HUGE_VAL) == piece.most)
      here = trend_of_step(f, args, k, piece);
    all = both(all, here);
    if (all == Trend::uneven) break;
  }
  return all;
}

Proved nothing_proved(std::size_t args) { return {std::vector<Trend>(args, Trend::uneven), Interval::anything()}; }

Proved of_function(CourseFn f, const std::vector<Interval>& args) {
  Proved found;
  for (std::size_t k = 0; k < args.size(); ++k) found.trends.push_back(trend_along(f, args, k));
  found.value = run(f, args, args.size(), {}, Parity::even).value;
  return found;
}

// Returns all numbers of the signs that an interval has.
Interval of_signs(const Interval& a) {
  Interval signs = a;
  signs.least = a.least < 0 ? -HUGE_VAL : 0;
  signs.most = a.most > 0 ? HUGE_VAL : 0;
  return signs;
}

std::vector<Interval> behind(const Interval& before, const std::vector<Interval>& args) {
  std::vector<Interval> all{before};
  all.insert(all.end(), args.begin(), args.end());
  return all;
}

// Proves a fold by its first step and by all others, whose earlier result is any number of the signs found so far.
Proved of_fold(CourseFn next, double start, const std::vector<Interval>& args) {
  Proved found = of_function(next, behind(start, args));
  for (int signs = 0; signs < 2; ++signs) {
    const Proved step = of_function(next, behind(of_signs(found.value), args));
    found.value = joined(found.value, step.value);
    for (std::size_t k = 0; k < step.trends.size(); ++k) found.trends[k] = both(found.trends[k], step.trends[k]);
  }
  found.value = of_signs(found.value);
  const bool goes_on = found.trends[0] == Trend::grows || found.trends[0] == Trend::flat;
  found.trends.erase(found.trends.begin());
  if (!goes_on) std::fill(found.trends.begin(), found.trends.end(), Trend::uneven);
  return found;
}

}  // namespace

Trend opposite(Trend trend) {
  return trend == Trend::grows ? Trend::falls : trend == Trend::falls ? Trend::grows : trend;
}

Trend both(Trend a, Trend b) { return a == Trend::flat || a == b ? b : b == Trend::flat ? a : Trend::uneven; }

Proved trends_of(Op op, const std::vector<Interval>& args) {
  const OpRow& r = row(op);
  if (r.form == Form::elementwise) return of_function(on_lane<Course>(op), args);
  if (r.form == Form::fold) return of_fold(on_lane<Course>(op), r.start().v, args);
  return nothing_proved(args.size());
}

Proved trends_of_difference(Op op, std::vector<Interval> args, std::size_t at) {
  args[at] = kSizes;
  Proved found = trends_of(op, args);
  const CourseFn f = on_lane<Course>(op);
  if (!f) return found;
  const bool fold = row(op).form == Form::fold;
  const std::vector<Interval> all = fold ? behind(kNumbers, args) : args;
  if (run(f, all, at + fold, kSizes, Parity::odd).parity != Parity::even) found.trends[at] = Trend::uneven;
  return found;
}

// If both points move alike and the value stays, one of the points may be taken as 0.
Proved trends_of_points(Op op) {
  const CourseFn f = on_lane<Course>(op);
  if (!f || row(op).arity != 2) return nothing_proved(1);
  const bool fold = row(op).form == Form::fold;
  std::array<Course, 3> in;
  for (std::size_t a = 0; a < in.size(); ++a) in[a] = argument(kNumbers, fold && a == 0 ? 0 : 1, Parity::even);
  const bool stays = trend_of(f(in.data()).slope) == Trend::flat;
  Proved found = trends_of_difference(op, {kSizes, Interval(0.0)}, 0);
  if (!stays) found.trends[0] = Trend::uneven;
  found.trends.pop_back();
  return found;
}

}  // namespace kernweave
