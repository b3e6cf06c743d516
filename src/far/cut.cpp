// Every way from points to the value goes through one squared distance. It is found in the steps of the plan.
#include "far/cut.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/error.hpp"
#include "reference/evaluate.hpp"

namespace kernweave {
namespace far {
namespace {

enum class Depends { param, row, column, pair };

// A factor, or what is divided by.
struct Factor {
  Ref ref;
  bool divides;
};

// The sum over components of weights times the square of factors times the difference of a row and a column.
struct Distance {
  Ref row, column;
  std::vector<Factor> factors, weights;
  int width = 1;
};

// Why a formula cannot be taken apart.
struct Refused {
  std::string why;
};

class Finder {
 public:
  Finder(const Plan& plan, const std::vector<View>& data)
      : plan_(plan), program_(plan.variants.back().program), data_(data), evaluator_(plan, program_, data) {
    evaluator_.run(Region::param);
  }

  void take_apart(std::int64_t rows, std::int64_t columns, Cut* cut) {
    for (const Variable& v : plan_.variables)
      if (v.source == Source::counter) throw Refused{"it knows row numbers"};
    profile_ = &cut->profile;
    const Ref rest = without_factors(plan_.variants.back().outputs[0].value);
    int value = place_of(rest);
    for (const Factor& constant : constants_)
      value = new_step(constant.divides ? Op::Divide : Op::Mult, {value, place_of(constant.ref)});
    if (negative_) value = new_step(Op::Minus, {value});
    profile_->end_with(value);
    if (!distance_) throw Refused{"it has no distance of points along i and j"};
    cut->width = distance_->width;
    cut->rows = side(Region::row, rows, distance_->row, of_rows_);
    cut->columns = side(Region::column, columns, distance_->column, of_columns_);
    scale_points(cut);
  }

 private:
  Depends depends(const Ref& ref) const {
    if (ref.from == Ref::From::number) return Depends::param;
    if (ref.from == Ref::From::variable) {
      switch (plan_.variables[static_cast<std::size_t>(ref.index)].axis) {
        case Axis::i: return Depends::row;
        case Axis::j: return Depends::column;
        case Axis::param: return Depends::param;
        default: return Depends::pair;
      }
    }
    switch (program_.slots[static_cast<std::size_t>(ref.index)].region) {
      case Region::param: return Depends::param;
      case Region::row: return Depends::row;
      case Region::column: return Depends::column;
      default: return Depends::pair;
    }
  }
  const Step* step_of_pair(const Ref& ref) const {
    return depends(ref) == Depends::pair ? program_.maker(ref) : nullptr;
  }

  // --- factors of a side ---

  // What is left of the value when factors of rows or columns alone, and constant ones, are taken off.
  Ref without_factors(Ref value) {
    while (const Step* const step = step_of_pair(value)) {
      if (step->op == Op::Minus) {
        negative_ = !negative_;
        value = step->in[0];
        continue;
      }
      if (step->op != Op::Mult && step->op != Op::Divide) break;
      const bool divides = step->op == Op::Divide;
      if (note_factor(step->in[1], divides)) value = step->in[0];
      else if (!divides && note_factor(step->in[0], false)) value = step->in[1];
      else break;
    }
    return value;
  }
  bool note_factor(const Ref& ref, bool divides) {
    const Depends on = depends(ref);
    if (ref.width != 1 || on == Depends::pair) return false;
    (on == Depends::row ? of_rows_ : on == Depends::column ? of_columns_ : constants_).push_back({ref, divides});
    return true;
  }

  // --- the distance ---

  // A difference of a row and a column, times or by what depends on neither.
  bool is_difference(const Ref& ref, Distance* found) const {
    const Step* const step = step_of_pair(ref);
    if (!step) return false;
    if (step->op == Op::Minus) return is_difference(step->in[0], found);
    if (step->op == Op::Subtract) return are_sides(step->in[0], step->in[1], found);
    return is_scaled(*step, &found->factors, [&](const Ref& rest) { return is_difference(rest, found); });
  }
  bool are_sides(const Ref& a, const Ref& b, Distance* found) const {
    const Depends of_a = depends(a), of_b = depends(b);
    const bool forth = of_a == Depends::row && of_b == Depends::column;
    if (!forth && !(of_a == Depends::column && of_b == Depends::row)) return false;
    found->row = forth ? a : b;
    found->column = forth ? b : a;
    return true;
  }
  template <class Rest>
  bool is_scaled(const Step& step, std::vector<Factor>* factors, Rest is_rest) const {
    if (step.op != Op::Mult && step.op != Op::Divide) return false;
    const bool divides = step.op == Op::Divide;
    for (const int k : {1, 0}) {
      if ((k == 0 && divides) || depends(step.in[static_cast<std::size_t>(k)]) != Depends::param) continue;
      factors->push_back({step.in[static_cast<std::size_t>(k)], divides});
      return is_rest(step.in[static_cast<std::size_t>(1 - k)]);
    }
    return false;
  }
  bool is_square(const Ref& ref, Distance* found) const {
    const Step* const step = step_of_pair(ref);
    if (!step) return false;
    if (step->op == Op::Square) return is_difference(step->in[0], found);
    return is_scaled(*step, &found->weights, [&](const Ref& rest) { return is_square(rest, found); });
  }
  // The same value: of two operands, one that both have.
  bool same(const Ref& a, const Ref& b) const {
    if (a.from != b.from) return false;
    if (a.index == b.index) return true;
    if (a.from != Ref::From::variable) return false;
    const auto axis = [&](const Ref& ref) { return plan_.variables[static_cast<std::size_t>(ref.index)].axis; };
    const auto numbers = [&](const Ref& ref) { return data_[static_cast<std::size_t>(ref.index)].data; };
    return a.width == b.width && axis(a) == axis(b) && numbers(a) == numbers(b);
  }
  bool same(const std::vector<Factor>& a, const std::vector<Factor>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const Factor& x, const Factor& y) { return same(x.ref, y.ref) && x.divides == y.divides; });
  }
  bool same(const Distance& a, const Distance& b) const {
    return same(a.row, b.row) && same(a.column, b.column) && same(a.factors, b.factors) && same(a.weights, b.weights);
  }

  // The step's value is a squared distance, or, of one component, its root.
  bool is_distance(const Step& step, Distance* found, bool* root) const {
    *root = step.op == Op::Abs;
    bool yes = false;
    switch (step.op) {
      case Op::SqDist: yes = are_sides(step.in[0], step.in[1], found); break;
      case Op::Scalprod: yes = same(step.in[0], step.in[1]) && is_difference(step.in[0], found); break;
      case Op::Sum: yes = is_square(step.in[0], found); break;
      case Op::Square:
      case Op::Abs: yes = step.width == 1 && is_difference(step.in[0], found); break;
      default: break;
    }
    if (!yes) return false;
    found->width = row(step.op).form == Form::fold ? fold_width(step) : 1;
    return true;
  }

  // --- the formula of it ---

  int new_number(double number) {
    refuse_longer();
    return profile_->add_number(number);
  }
  int new_step(Op op, const std::vector<int>& in) {
    refuse_longer();
    return profile_->add_step(op, in);
  }
  void refuse_longer() const {
    if (profile_->full() || depth_ > Profile::kMostPlaces) throw Refused{"it is too long"};
  }

  // Where the profile has the value, which it gets here if it is new.
  int place_of(const Ref& ref) {
    const Depends on = depends(ref);
    if (on == Depends::param) {
      if (ref.width != 1) throw Refused{"it has several components"};
      return new_number(evaluator_.read(ref)[0].v);
    }
    const Step* const step = step_of_pair(ref);
    if (!step) throw Refused{sentence("`", name_of(ref), "` enters beside the distance")};
    const auto known = places_.find(ref.index);
    if (known != places_.end()) return known->second;
    ++depth_;
    refuse_longer();
    const int place = place_of_step(*step);
    --depth_;
    places_[ref.index] = place;
    return place;
  }
  int place_of_step(const Step& step) {
    Distance found;
    bool root = false;
    if (is_distance(step, &found, &root)) {
      if (distance_ && !same(*distance_, found)) throw Refused{"it has several distances"};
      distance_ = found;
      return root ? new_step(Op::Sqrt, {0}) : 0;
    }
    const OpRow& r = row(step.op);
    if (r.form != Form::elementwise || step.width != 1)
      throw Refused{sentence("`", r.fn, "()` of points is no function of their distance")};
    std::vector<int> in;
    for (const Ref& ref : step.in) in.push_back(place_of(ref));
    return new_step(step.op, in);
  }
  std::string name_of(const Ref& ref) const {
    if (ref.from == Ref::From::variable) return plan_.variables[static_cast<std::size_t>(ref.index)].name;
    return depends(ref) == Depends::row ? "a formula of i" : "a formula of j";
  }

  // --- numbers ---

  Side side(Region region, std::int64_t count, const Ref& at, const std::vector<Factor>& factors) {
    const int width = distance_->width;
    Side out;
    out.count = count;
    out.points.resize(static_cast<std::size_t>(count * width));
    if (!factors.empty()) out.factors.resize(static_cast<std::size_t>(count));
    for (std::int64_t p = 0; p < count; ++p) {
      if (region == Region::row) evaluator_.at_row(p);
      else evaluator_.at_column(p);
      evaluator_.run(region);
      const Read<Lane> point = evaluator_.read(at);
      for (int d = 0; d < width; ++d)
        out.points[static_cast<std::size_t>(p + d * count)] = point[at.width == 1 ? 0 : d].v;
      if (!factors.empty()) out.factors[static_cast<std::size_t>(p)] = product(factors, 0);
    }
    return out;
  }
  // Of numbers far from 0, the digits that tell them apart would be lost with those behind, so they come nearer first.
  void scale_points(Cut* cut) {
    const std::vector<double> scale = scales();
    for (std::size_t d = 0; d < scale.size(); ++d) {
      if (scale[d] == 1) continue;
      double nearest = HUGE_VAL;
      each_number(cut, d, [&](double& x) { nearest = std::abs(x) < std::abs(nearest) ? x : nearest; });
      each_number(cut, d, [&](double& x) { x = (x - nearest) * scale[d]; });
    }
  }
  template <class F>
  static void each_number(Cut* cut, std::size_t component, F f) {
    for (Side* side : {&cut->rows, &cut->columns}) {
      const auto n = static_cast<std::size_t>(side->count);
      std::for_each_n(side->points.begin() + static_cast<std::ptrdiff_t>(component * n), n, f);
    }
  }
  // By what components are multiplied, so that the distance is a plain one.
  std::vector<double> scales() {
    std::vector<double> out;
    for (int d = 0; d < distance_->width; ++d) {
      const double weight = product(distance_->weights, d);
      if (weight < 0) throw Refused{sentence("the distance has a weight of ", weight)};
      out.push_back(product(distance_->factors, d) * std::sqrt(weight));
    }
    return out;
  }
  double product(const std::vector<Factor>& factors, int component) const {
    double all = 1;
    for (const Factor& factor : factors) {
      const double number = evaluator_.read(factor.ref)[factor.ref.width == 1 ? 0 : component].v;
      all = factor.divides ? all / number : all * number;
    }
    return all;
  }

  const Plan& plan_;
  const Program& program_;
  const std::vector<View>& data_;
  Evaluator evaluator_;
  Profile* profile_ = nullptr;
  std::optional<Distance> distance_;
  std::vector<Factor> of_rows_, of_columns_, constants_;
  bool negative_ = false;
  int depth_ = 0;  // of steps that the present one is part of
  std::map<int, int> places_;
};

}  // namespace

Verdict take_apart(const Plan& plan, const std::vector<View>& data, std::int64_t rows, std::int64_t columns, Cut* cut) {
  try {
    Finder(plan, data).take_apart(rows, columns, cut);
  } catch (const Refused& refused) {
    return Verdict::no(refused.why);
  }
  return {};
}

bool falls_between_same(const Cut& cut) {
  if (!cut.rows.factors.empty() || !cut.columns.factors.empty() || cut.rows.points != cut.columns.points) return false;
  double most = 0;
  for (int d = 0; d < cut.width; ++d) {
    const auto first = cut.rows.points.begin() + d * cut.rows.count;
    const auto ends = std::minmax_element(first, first + cut.rows.count);
    most += (*ends.second - *ends.first) * (*ends.second - *ends.first);
  }
  constexpr int kSamples = 100;
  double before = cut.profile.at(0);
  for (int k = 1; k <= kSamples; ++k) {
    const double now = cut.profile.at(most * k * k / (kSamples * kSamples));
    if (!(now <= before)) return false;
    before = now;
  }
  return true;
}

}  // namespace far
}  // namespace kernweave
