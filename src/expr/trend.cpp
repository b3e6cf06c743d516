// An argument's interval is cut where functions of rows may jump or turn: at 0, and where another argument is. Of
// two numbers that have no other one between them, the values tell.
#include "expr/course.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "expr/on_lane.hpp"

namespace kernweave {
namespace {

const Interval kSizes(0, HUGE_VAL), kNumbers(-HUGE_VAL, HUGE_VAL);

// A row that runs on courses. Of a fold it is one step, whose first argument is what came before.
using CourseFn = RowFn<Course>;

// A value of its own, whatever else has the same interval.
Course argument(const Interval& a, double slope, Parity parity) { return {a.with(a.least, a.most), slope, parity}; }

// Evaluates f where argument k varies over `at` and the other arguments are constants in `args`.
Course run(CourseFn f, const std::vector<Interval>& args, std::size_t k, const Interval& at, Parity parity) {
  std::array<Course, 4> in;
  for (std::size_t a = 0; a < args.size(); ++a)
    in[a] = a == k ? argument(at, 1, parity) : argument(args[a], 0, Parity::even);
  return f(in.data());
}

Trend trend_of(const Interval& slope) {
  const bool grows = slope.least >= 0, falls = slope.most <= 0;
  return grows && falls ? Trend::flat : grows ? Trend::grows : falls ? Trend::falls : Trend::uneven;
}

// Returns the trend between the ends of `at`.
Trend trend_of_step(CourseFn f, const std::vector<Interval>& args, std::size_t k, const Interval& at) {
  const Interval before = run(f, args, k, at.least, Parity::even).value,
                 behind = run(f, args, k, at.most, Parity::even).value;
  if (before.nan || behind.nan) return Trend::uneven;
  const bool grows = before.most <= behind.least, falls = before.least >= behind.most;
  return grows && falls ? Trend::flat : grows ? Trend::grows : falls ? Trend::falls : Trend::uneven;
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

Proved nothing_proved(std::size_t args) {
  return {std::vector<Trend>(args, Trend::uneven), Interval::anything()};
}

Proved of_function(CourseFn f, const std::vector<Interval>& args) {
  Proved found;
  for (std::size_t k = 0; k < args.size(); ++k) found.trends.push_back(trend_along(f, args, k));
  found.value = run(f, args, args.size(), {}, Parity::even).value;
  return found;
}

// All numbers of the signs that an interval has.
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

// The first step, and all others: what one leaves is of the signs that all leave.
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

// If both points move alike the value stays, so that one of them may be 0.
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
