// Products and quotients unite factors, sums need terms with the same ones, and everything else has none within. What
// folds the squares of a difference is the distance.
#include "far/parts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"

namespace kernweave {
namespace far {
namespace {

constexpr double kSameRatio = 1e-12;  // of numbers that are another's times one number, up to rounding

double number_at(const std::vector<double>& numbers, std::size_t component) {
  return numbers[numbers.size() == 1 ? 0 : component];
}
template <class F>
std::vector<double> each(const std::vector<double>& a, const std::vector<double>& b, F f) {
  std::vector<double> out(std::max(a.size(), b.size()));
  for (std::size_t d = 0; d < out.size(); ++d) out[d] = f(number_at(a, d), number_at(b, d));
  return out;
}

// What `a` is of `b`, if that is one number.
std::optional<double> ratio(const std::vector<double>& a, const std::vector<double>& b) {
  const std::size_t n = std::max(a.size(), b.size());
  std::size_t largest = 0;
  for (std::size_t d = 1; d < n; ++d)
    if (std::abs(number_at(b, d)) > std::abs(number_at(b, largest))) largest = d;
  const double found = number_at(a, largest) / number_at(b, largest);
  for (std::size_t d = 0; d < n; ++d) {
    const double wanted = found * number_at(b, d);
    if (!(std::abs(number_at(a, d) - wanted) <= kSameRatio * std::abs(wanted))) return {};
  }
  return found;
}

Part product(Part a, const Part& b) {
  a.rows.insert(a.rows.end(), b.rows.begin(), b.rows.end());
  a.columns.insert(a.columns.end(), b.columns.begin(), b.columns.end());
  a.numbers = each(a.numbers, b.numbers, [](double x, double y) { return x * y; });
  a.power += b.power;
  return a;
}
Part inverse(Part part) {
  for (std::vector<Factor>* factors : {&part.rows, &part.columns})
    for (Factor& factor : *factors) factor.divides = !factor.divides;
  for (double& number : part.numbers) number = 1 / number;
  return part;
}
bool is_zero(const Part& part) {
  return std::all_of(part.numbers.begin(), part.numbers.end(), [](double number) { return number == 0; });
}
bool is_uniform(const Part& part) { return part.numbers.size() == 1 || ratio(part.numbers, {1}).has_value(); }

}  // namespace

// --- values ---

Parts::Depends Parts::depends(const Ref& ref) const {
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

std::string Parts::name_of(const Ref& ref) const {
  if (ref.from == Ref::From::variable) return plan_.variables[static_cast<std::size_t>(ref.index)].name;
  switch (depends(ref)) {
    case Depends::row: return "a formula of i";
    case Depends::column: return "a formula of j";
    default: return "a factor of i or j";
  }
}

// The same value: of two operands, one that both have.
bool Parts::same(const Ref& a, const Ref& b) const {
  if (a.from != b.from) return false;
  if (a.index == b.index) return true;
  if (a.from != Ref::From::variable) return false;
  const auto axis = [&](const Ref& ref) { return plan_.variables[static_cast<std::size_t>(ref.index)].axis; };
  const auto numbers = [&](const Ref& ref) { return data_[static_cast<std::size_t>(ref.index)].data; };
  return a.width == b.width && axis(a) == axis(b) && numbers(a) == numbers(b);
}
bool Parts::same(std::vector<Factor> a, std::vector<Factor> b) const {
  return std::is_permutation(a.begin(), a.end(), b.begin(), b.end(), [&](const Factor& x, const Factor& y) {
    return same(x.ref, y.ref) && x.divides == y.divides;
  });
}

Part Parts::of(const Ref& ref) {
  Part part;
  switch (depends(ref)) {
    case Depends::param:
      part.numbers.resize(static_cast<std::size_t>(ref.width));
      for (int d = 0; d < ref.width; ++d) part.numbers[static_cast<std::size_t>(d)] = evaluator_.read(ref)[d].v;
      return part;
    case Depends::row:
    case Depends::column:
      if (const std::optional<Part> factors = of_side(ref, 0)) return *factors;
      (depends(ref) == Depends::row ? part.rows : part.columns) = {{ref, false}};
      return part;
    case Depends::pair: break;
  }
  const Step* const step = program_.maker(ref);
  if (!step) throw Refused{sentence("`", name_of(ref), "` enters beside the distance")};
  const auto known = known_.find(ref.index);
  if (known != known_.end()) return known->second;
  ++depth_;
  refuse_longer();
  part = of_step(*step);
  --depth_;
  known_[ref.index] = part;
  return part;
}

// What depends on one side alone as a product of numbers and data, so that it is known again in other products. What
// steps between have made is gone when factors are read, so there is none of that; nor are there many factors.
std::optional<Part> Parts::of_side(const Ref& ref, int depth) {
  constexpr int kDeepest = 32;
  constexpr std::size_t kMostFactors = 8;
  if (depends(ref) == Depends::param) return of(ref);
  const Step* const step = program_.maker(ref);
  if (!step) return depends(ref) == Depends::row ? Part{{{ref, false}}, {}} : Part{{}, {{ref, false}}};
  const bool known = step->op == Op::Mult || step->op == Op::Divide || step->op == Op::Inv || step->op == Op::Square ||
                     step->op == Op::Minus;
  const std::optional<Part> a = known && depth < kDeepest ? of_side(step->in[0], depth + 1) : std::nullopt;
  if (!a) return {};
  std::optional<Part> b = step->op == Op::Square ? a : Part();
  if (step->op == Op::Minus) b->numbers = {-1};
  if (step->op == Op::Mult || step->op == Op::Divide) b = of_side(step->in[1], depth + 1);
  if (!b || a->rows.size() + a->columns.size() + b->rows.size() + b->columns.size() > kMostFactors) return {};
  return product(step->op == Op::Inv ? inverse(*a) : *a, step->op == Op::Divide ? inverse(*b) : *b);
}

Part Parts::of_step(const Step& step) {
  switch (step.op) {
    case Op::Add:
    case Op::Subtract: return sum(step);
    case Op::Minus: return product(of(step.in[0]), Part{{}, {}, {-1}});
    case Op::SumT: return of(step.in[0]);
    case Op::Inv:
    case Op::Divide:
    case Op::Mult: {
      Part a = step.op == Op::Inv ? Part() : of(step.in[0]), b = of(step.in[step.op == Op::Inv ? 0 : 1]);
      const bool divides = step.op != Op::Mult;
      if (divides && b.power > 0) return plain_step(step);
      Part both = product(a, divides ? inverse(b) : b);
      if (b.place != Part::kOne && divides)
        both.place = new_step(Op::Divide, {a.place == Part::kOne ? new_number(1) : a.place, b.place});
      else both.place = times(a.place, b.place);
      return sides_ && sides_->width == 1 && both.power > 1 ? folded(both, 1, "*") : both;
    }
    case Op::Square: {
      const Part one = of(step.in[0]);
      Part both = product(one, one);
      if (one.place != Part::kOne) both.place = new_step(Op::Square, {one.place});
      return sides_ && sides_->width == 1 && both.power > 1 ? folded(both, 1, "square") : both;
    }
    case Op::Abs:
    case Op::Sign: {
      const Part one = of(step.in[0]);
      const bool narrow = one.power == 1 && sides_->width == 1 && one.place == Part::kOne;
      if (!narrow || !one.rows.empty() || !one.columns.empty()) return plain_step(step);
      Part size = folded(product(one, one), 1, "abs");
      const int root = new_step(Op::Sqrt, {place_of(size)});
      if (step.op == Op::Abs) return {{}, {}, {1}, root};
      return {{}, {}, one.numbers, new_step(Op::Divide, {new_number(1), root}), 1};
    }
    case Op::SqDist: {
      const Part one = difference(step.in[0], step.in[1], fold_width(step));
      return folded(product(one, one), fold_width(step), "sqdist");
    }
    case Op::Scalprod: {
      const Part a = of(step.in[0]), b = of(step.in[1]);
      Part both = product(a, b);
      both.place = times(a.place, b.place);
      return folded(both, fold_width(step), "scalprod");
    }
    case Op::Select: return choice(step);
    case Op::Sum: return folded(of(step.in[0]), fold_width(step), "sum");
    default: return plain_step(step);
  }
}

// Of terms with the same factors one place, and so of two numbers.
Part Parts::sum(const Step& step) {
  const Depends first = depends(step.in[0]), second = depends(step.in[1]);
  if (step.op == Op::Subtract && first != Depends::pair && second != Depends::pair && first != Depends::param &&
      second != Depends::param)
    return difference(step.in[0], step.in[1], step.width);
  const Part a = of(step.in[0]), b = of(step.in[1]);
  if (is_zero(b)) return a;
  if (is_zero(a)) return step.op == Op::Add ? b : product(b, Part{{}, {}, {-1}});
  for (const Ref& ref : step.in)
    if (depends(ref) == Depends::row || depends(ref) == Depends::column)
      throw Refused{sentence("`", name_of(ref), "` enters beside the distance")};
  Part both = a;
  const Places places = united(a, b, "it is a sum", &both);
  both.place = new_step(step.op, {places.one, places.other});
  return both;
}

// Two terms with the same factors, as places of the profile beside these.
Parts::Places Parts::united(const Part& a, const Part& b, const char* what, Part* both) {
  if (!same(a.rows, b.rows) || !same(a.columns, b.columns) || a.power != b.power)
    throw Refused{sentence(what, " of terms with different factors")};
  if (is_uniform(a) && is_uniform(b)) {
    both->numbers = {1};
    return {place_of(a), place_of(b)};
  }
  const std::optional<double> times = ratio(b.numbers, a.numbers);
  if (!times) throw Refused{sentence(what, " of terms whose components have different weights")};
  return {place_of({{}, {}, {1}, a.place}), place_of({{}, {}, {*times}, b.place})};
}

// One of two terms with the same factors, or of one and nothing.
Part Parts::choice(const Step& step) {
  const int test = plain(step.in[0], step);
  const Part a = of(step.in[1]), b = of(step.in[2]);
  Part both = is_zero(a) ? b : a;
  Places places;
  if (is_zero(a) || is_zero(b)) {
    const int some = both.place == Part::kOne ? new_number(1) : both.place, none = new_number(0);
    places = is_zero(a) ? Places{none, some} : Places{some, none};
  } else {
    places = united(a, b, "it is a choice", &both);
  }
  both.place = new_step(Op::Select, {test, places.one, places.other});
  return both;
}

// An operation, element by element, of formulas of the distance.
Part Parts::plain_step(const Step& step) {
  const OpRow& r = row(step.op);
  if (r.form != Form::elementwise) throw Refused{sentence("`", r.fn, "()` of points is no function of their distance")};
  std::vector<int> in;
  for (const Ref& ref : step.in) in.push_back(plain(ref, step));
  return {{}, {}, {1}, new_step(step.op, in)};
}

Part Parts::difference(const Ref& a, const Ref& b, int width) {
  const Depends of_a = depends(a), of_b = depends(b);
  const bool forth = of_a == Depends::row && of_b == Depends::column;
  if (!forth && !(of_a == Depends::column && of_b == Depends::row))
    throw Refused{"a difference is not one of a row and a column"};
  const Sides found{forth ? a : b, forth ? b : a, width};
  if (!sides_) sides_ = found;
  if (!same(sides_->row, found.row) || !same(sides_->column, found.column) || sides_->width != width)
    throw Refused{"it has several distances"};
  return {{}, {}, {forth ? 1.0 : -1.0}, Part::kOne, 1};
}

// The sum over components: of squares of the difference, the distance times what one or two numbers say.
Part Parts::folded(Part part, int width, const char* fn) {
  const auto wide = [](const Factor& factor) { return factor.ref.width > 1; };
  if (std::any_of(part.rows.begin(), part.rows.end(), wide) || part.power % 2 ||
      std::any_of(part.columns.begin(), part.columns.end(), wide))
    throw Refused{sentence("`", fn, "()` of points is no function of their distance")};
  part.numbers.resize(static_cast<std::size_t>(width), part.numbers.back());
  if (part.power == 0) {
    double all = 0;
    for (const double number : part.numbers) all += number;
    part.numbers = {all};
    return part;
  }
  if (weights_.empty()) {
    const bool negative = std::all_of(part.numbers.begin(), part.numbers.end(), [](double x) { return x <= 0; });
    for (const double number : part.numbers) {
      if (!negative && !(number >= 0)) throw Refused{sentence("the distance has a weight of ", number)};
      weights_.push_back(std::abs(number));
    }
  }
  const std::optional<double> times = ratio(part.numbers, weights_);
  if (!times || part.power > 2) throw Refused{"it has several distances"};
  return {part.rows, part.columns, {*times}, part.place == Part::kOne ? 0 : new_step(Op::Mult, {part.place, 0})};
}

// --- the profile ---

int Parts::new_number(double number) {
  refuse_longer();
  return profile_->add_number(number);
}
int Parts::new_step(Op op, const std::vector<int>& in) {
  refuse_longer();
  return profile_->add_step(op, in);
}
// The place of a product of two, either of which may be 1.
int Parts::times(int a, int b) { return a == Part::kOne ? b : b == Part::kOne ? a : new_step(Op::Mult, {a, b}); }
void Parts::refuse_longer() const {
  if (profile_->full() || depth_ > Profile::kMostPlaces) throw Refused{"it is too long"};
}

int Parts::place_of(const Part& part) {
  const double number = part.numbers[0];
  if (part.place == Part::kOne) return new_number(number);
  if (number == -1) return new_step(Op::Minus, {part.place});
  return number == 1 ? part.place : new_step(Op::Mult, {new_number(number), part.place});
}
int Parts::plain(const Ref& ref, const Step& by) {
  const Depends on = depends(ref);
  if (on == Depends::row || on == Depends::column)
    throw Refused{sentence("`", name_of(ref), "` enters beside the distance")};
  const Part part = of(ref);
  if (part.power > 0) throw Refused{sentence("`", row(by.op).fn, "()` of points is no function of their distance")};
  if (!part.rows.empty() || !part.columns.empty())
    throw Refused{sentence("`", name_of((part.rows.empty() ? part.columns : part.rows)[0].ref),
                           "` enters beside the distance")};
  if (!is_uniform(part)) throw Refused{"it has several components"};
  return place_of(part);
}

}  // namespace far
}  // namespace kernweave
