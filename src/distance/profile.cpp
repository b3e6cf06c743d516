// The steps, one after the other, each through the functions that its row gave to the table.
#include "distance/profile.hpp"

#include <algorithm>

#include "distance/radial_table.hpp"
#include "expr/parse.hpp"

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

}  // namespace distance
}  // namespace kernweave
