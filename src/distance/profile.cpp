// Runs the steps of a profile one after the other, by the functions in the table's row of each operation.
#include "distance/profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "distance/radial_table.hpp"
#include "expr/parse.hpp"
#include "kernweave/elementary.hpp"

namespace kernweave {
namespace distance {

int Profile::add_number(double number) {
  at_.push_back(places());
  numbers_.push_back(number);
  return at_.back();
}

int Profile::add_step(Op op, const std::vector<int>& in) {
  out_.push_back(places());
  ProfileStep step{op, row(op).value, bounded(op), {}};
  std::copy(in.begin(), in.end(), step.in.begin());
  steps_.push_back(step);
  return out_.back();
}

int Profile::add_look_up(Op op, int in, std::vector<double> table, int order) {
  const int place = add_step(op, {in});
  steps_.back().table = std::make_shared<const std::vector<double>>(std::move(table));
  steps_.back().order = order;
  return place;
}

Lane Profile::ProfileStep::at(const Lane* in) const {
  return table ? Lane(look_up(*table, order, in[0].v)) : value(in);
}
Ball Profile::ProfileStep::over(const Ball* in) const {
  return table ? bound_of_look_up(*table, order, in[0]) : bounded(in);
}

template <class L, class Number, class Apply>
L Profile::run(L square, Number number, Apply apply) const {
  return places() <= kFewPlaces ? run_in<kFewPlaces>(square, number, apply)
                                : run_in<kMostPlaces>(square, number, apply);
}

template <int kPlaces, class L, class Number, class Apply>
L Profile::run_in(L square, Number number, Apply apply) const {
  std::array<L, kPlaces> values;
  values[0] = square;
  for (std::size_t k = 0; k < numbers_.size(); ++k) values[static_cast<std::size_t>(at_[k])] = number(numbers_[k]);
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    L in[3];
    for (std::size_t a = 0; a < 3; ++a) in[a] = values[static_cast<std::size_t>(steps_[k].in[a])];
    values[static_cast<std::size_t>(out_[k])] = apply(steps_[k], in);
  }
  return values[static_cast<std::size_t>(result_)];
}

double Profile::at(double square) const {
  const auto number = [](double x) { return Lane(x); };
  return run(Lane(square), number, [](const ProfileStep& step, const Lane* in) { return step.at(in); }).v;
}

Ball Profile::over(const Ball& square) const {
  const auto number = [](double x) { return Ball(x); };
  return run(square, number, [](const ProfileStep& step, const Ball* in) { return step.over(in); });
}

std::string Profile::text() const {
  Pool pool(false);
  const Expr s = pool.variable({"s", Axis::param, Source::data, 1, Kind::real, kernweave::Axes::none(), 0});
  const Expr table = pool.variable({"table", Axis::param, Source::data, 1, Kind::real, kernweave::Axes::none(), 1});
  const auto number = [&](double x) { return pool.number(x); };
  return show(run(s, number, [&](const ProfileStep& step, const Expr* in) {
    std::vector<Expr> args(in, in + step.arity());
    if (step.table) args.push_back(table);
    return pool.make(step.op, args, step.table ? std::vector<int>{step.order, step.order} : std::vector<int>());
  }));
}

const OpRow* Profile::without_ball(const std::vector<Ball>& squares) const {
  std::vector<bool> ever(steps_.size(), false), asked(steps_.size(), false);
  const auto number = [](double x) { return Ball(x); };
  for (const Ball& square : squares)
    run(square, number, [&](const ProfileStep& step, const Ball* in) {
      const auto at = static_cast<std::size_t>(&step - steps_.data());
      const Ball out = step.over(in);
      const bool known = std::all_of(in, in + step.arity(), [](const Ball& d) { return d.known(); });
      if (known) asked[at] = true;
      if (out.known()) ever[at] = true;
      return out;
    });
  for (std::size_t k = 0; k < steps_.size(); ++k)
    if (asked[k] && !ever[k]) return &row(steps_[k].op);
  return nullptr;
}

// --- bounds ---------------------------------------------------------------------------------------------------------
// Cuts regions into cells, each bounded by one ball, and halves cells whose bound is not tight enough.

namespace {

using Complex = Ball::Complex;

constexpr double kNothing = std::numeric_limits<double>::infinity();
// The largest depth of halvings: of squared distances, of squared distances without a finite bound, and of a cell; and
// the most halvings of a domain in all. Bounds are tight earlier, unless the profile is singular.
constexpr int kHalvings = 18, kHalvingsInTheDark = 8, kHalvingsOfCell = 9, kMostHalvings = 2000;
constexpr double kTight = 1.25, kTightOfCell = 3;
constexpr int kCells = 8;  // the first cells of the half turn
constexpr double kPoleOfRounding = 1e-14;
constexpr int kSamples = 4096;

// Bounds |k|. `left` is the number of halvings that remain for the whole domain.
double largest(const Profile& k, double least, double most, double enough, int depth, int* left) {
  const double bound = k.over(Ball::between(least, most)).size();
  if (bound <= enough || depth >= kHalvings || (bound == kNothing && depth >= kHalvingsInTheDark)) return bound;
  const double middle = (least + most) / 2, inside = std::abs(k.at(middle));
  if (inside > enough || bound <= kTight * inside || --*left < 0) return bound;
  const double below = largest(k, least, middle, enough, depth + 1, left);
  return below == kNothing ? below : std::max(below, largest(k, middle, most, enough, depth + 1, left));
}

// Part of an ellipse around a domain: z = middle + half (u + 1 / u) / 2 with |u| from t0 to t1 and the angle from a0 to
// a1; and c from c0 to c1.
struct EllipseCell {
  double t0, t1, a0, a1, c0, c1;
};

// The goal of a bound: a bound up to `enough` need not be tighter, and a bound above `too_much` counts as infinite.
struct BoundGoal {
  double enough, too_much;
};

double largest_in(const Profile& k, const SeriesDomain& s, const EllipseCell& cell, const BoundGoal& sought,
                  int depth) {
  const double t = (cell.t0 + cell.t1) / 2, angle = (cell.a0 + cell.a1) / 2, c = (cell.c0 + cell.c1) / 2;
  const double half_t = (cell.t1 - cell.t0) / 2, half_a = (cell.a1 - cell.a0) / 2, half_c = (cell.c1 - cell.c0) / 2;
  const Complex u = std::polar(t, angle), z = s.middle + s.half * 0.5 * (u + 1.0 / u);
  const double around_z = s.half * 0.5 * (half_t * (1 + 1 / (cell.t0 * cell.t0)) + half_a * (cell.t1 + 1 / cell.t0));
  const double exact = 2 * std::abs(z) * around_z + around_z * around_z + half_c;
  const double around = exact + kPoleOfRounding * (exact + std::norm(z) + std::abs(c));
  const double bound = k.over(Ball(z * z + c, around, false)).size();
  if (bound <= sought.enough) return bound;
  const double inside = k.over(Ball(z * z + c, 0, false)).size();
  const bool is_last = depth <= 0 || (std::isfinite(bound) && bound <= kTightOfCell * inside);
  if (is_last || inside > sought.too_much) return bound > sought.too_much ? kNothing : bound;
  EllipseCell one = cell, other = cell;
  const double long_t = s.half * half_t, long_a = s.half * half_a * t, long_c = half_c / (2 * std::abs(z) + 1e-300);
  if (long_c >= long_t && long_c >= long_a) one.c1 = other.c0 = c;
  else if (long_a >= long_t) one.a1 = other.a0 = angle;
  else one.t1 = other.t0 = t;
  const double first = largest_in(k, s, one, sought, depth - 1);
  return first == kNothing ? first : std::max(first, largest_in(k, s, other, sought, depth - 1));
}

// Returns the largest |k| of samples on the ellipse: a cheap lower limit of all bounds.
double sampled_on_ellipse(const Profile& k, const SeriesDomain& s, double rho) {
  double most = 0;
  for (int part = 0; part <= kCells; ++part) {
    const Complex u = std::polar(rho, kPi * part / kCells), z = s.middle + s.half * 0.5 * (u + 1.0 / u);
    for (const double c : {s.c_least, s.c_most}) most = std::max(most, k.over(Ball(z * z + c, 0, false)).size());
  }
  return most;
}

// Bounds k on the filled ellipse by its upper half, since k is real on real numbers. The search begins at the left,
// where distances are small, and formulas are large or not analytic.
double largest_on_ellipse(const Profile& k, const SeriesDomain& s, double rho, const BoundGoal& sought) {
  double most = 0;
  for (int part = kCells; part-- > 0 && most < kNothing;) {
    const EllipseCell cell{1, rho, kPi * part / kCells, kPi * (part + 1) / kCells, s.c_least, s.c_most};
    most = std::max(most, largest_in(k, s, cell, sought, kHalvingsOfCell));
  }
  return most;
}

}  // namespace

void DistanceRange::add(double least_of_one, double most_of_one, double least_of_other, double most_of_other) {
  const double low = least_of_one - most_of_other, high = most_of_one - least_of_other;
  const double gap = std::max({0.0, low, -high}), farthest = std::max(-low, high);
  least += gap * gap;
  most += farthest * farthest;
}

double largest_found(const Profile& k, double least, double most, int power) {
  double found = 0;
  const auto look = [&](double square) {
    const double size = std::abs(k.at(square)) * std::pow(square, power / 2.0);
    if (std::isfinite(size)) found = std::max(found, size);
  };
  for (int i = 0; i <= kSamples; ++i) look(least + (most - least) * i / kSamples);
  for (int i = 1; i <= kSamples && found < kSmallestScale; ++i)  // finds values at small distances alone
    look(least + (most - least) * std::exp2(-64.0 * i / kSamples));
  return found;
}

// Tells whether the profile changes by more than kOfScale * scale in the step that rounding makes. The interval with
// the largest change is halved down to this step.
bool is_rough(const Profile& k, double width, int power, double scale) {
  constexpr double kOfScale = 0.01, kOfWidth = 0x1p-24, kReach = 2;
  constexpr int kPlaces = 1000;
  const double step = width * kOfWidth, first = power > 0 ? step : 0;
  const auto value = [&](double r) { return k.at(r * r) * std::pow(r, power); };
  const auto change = [&](double from, double to) { return std::abs(value(to) - value(from)); };
  constexpr double kFarthest = std::numeric_limits<double>::max();
  const auto place = [&](int i) { return std::max(first, std::min(kFarthest, width * (kReach * i / kPlaces))); };
  const bool turns = power > 0 && std::abs(value(step)) > kOfScale * scale;
  if (turns || !std::isfinite(value(first))) return true;
  double from = first, to = place(1);
  for (int i = 1; i < kPlaces; ++i)
    if (change(place(i), place(i + 1)) > change(from, to)) from = place(i), to = place(i + 1);
  while (to - from > step) {
    const double middle = from / 2 + to / 2;
    if (!(from < middle && middle < to)) break;  // there is no number between
    (change(from, middle) > change(middle, to) ? to : from) = middle;
  }
  return change(from, to) > kOfScale * scale;
}

std::string why_no_series(const Profile& k, double least, double most) {
  constexpr int kPlaces = 20;
  std::vector<Ball> places;
  for (int i = 1; i < kPlaces; ++i) {
    const double square = least + (most - least) * i / kPlaces;
    places.emplace_back(square, 1e-9 * square, false);
  }
  const OpRow* const found = k.without_ball(places);
  return found ? sentence("`", found->symbol.empty() ? found->fn : found->symbol.c_str(), "` has no series") : "";
}

double largest(const Profile& k, double least, double most, double enough) {
  int left = kMostHalvings;
  return largest(k, least, most, enough, 0, &left);
}

// Takes the smallest ellipse whose samples promise an error up to `goal`, or else the ellipse with the least promised
// error. While the bound is larger than `goal`, takes smaller ellipses, whose bounds are tighter.
double interpolation_error(const Profile& k, const SeriesDomain& s, int points, double goal, double allowed) {
  constexpr std::array<double, 11> kRhos{1.25, 1.5, 1.8, 2.1, 2.3, 2.6, 3.0, 3.7, 5.0, 7.0, 10.0};
  constexpr double kSlack = 4;  // bounds of cells are at most this factor larger than samples
  const auto times = [&](std::size_t e) { return 4 * std::pow(kRhos[e], 1 - points) / (kRhos[e] - 1); };
  std::vector<double> promised;
  std::size_t chosen = 0;
  for (std::size_t e = 0; e < kRhos.size(); ++e) {
    const double sampled = sampled_on_ellipse(k, s, kRhos[e]);
    if (sampled == kNothing) break;
    promised.push_back(times(e) * sampled);
    if (promised[e] <= promised[chosen]) chosen = e;
    if (promised[e] * kSlack <= goal) break;
  }
  const double there = std::abs(k.at(s.c_least)) + std::abs(k.at(s.c_most));
  double best = kNothing;
  for (std::size_t e = promised.empty() ? 0 : chosen + 1; e-- > 0 && best > goal;) {
    if (!(promised[e] <= allowed)) break;
    const BoundGoal sought{std::max(goal / times(e), std::isfinite(there) ? there : 0), allowed / times(e)};
    best = std::min(best, times(e) * largest_on_ellipse(k, s, kRhos[e], sought));
  }
  return best;
}

}  // namespace distance
}  // namespace kernweave
