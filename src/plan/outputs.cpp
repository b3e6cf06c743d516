// Finds exponents in the form in which rewriting leaves them: to base 2, a coefficient times a distance.
#include "plan/outputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <unordered_map>

#include "expr/build.hpp"
#include "expr/rewrite.hpp"

namespace kernweave {

namespace {

using Users = std::unordered_map<const Node*, int>;

// An exponent -c d: d is a squared distance, or (`rooted`) its root.
struct Exponent {
  Expr coefficient, distance;
  bool rooted;
};

bool read_once(Expr f, const Users& users) { return users.at(f.get()) == 1; }

// Tells whether f is a distance that is read once. Other readers of its points, as a gradient's differences, go on
// reading the points as they are.
bool is_distance(Expr f, const Users& users) { return is_distance_across(f) && read_once(f, users); }

bool find_exponent(Expr power, const Users& users, Exponent* found) {
  if (power->op != Op::Exp2 && power->op != Op::Exp2Minus) return false;
  const Expr product = power.arg(0);
  if (product->op != Op::Mult || !read_once(product, users)) return false;
  for (std::size_t k = 0; k < 2; ++k) {
    const Expr c = product.arg(k), other = product.arg(1 - k);
    const bool rooted = other->op == Op::Sqrt && read_once(other, users);
    const Expr distance = rooted ? other.arg(0) : other;
    if (!is_parameter(c) || width(c) != 1 || !is_distance(distance, users)) continue;
    *found = {power->op == Op::Exp2 ? -c : c, distance, rooted};
    return true;
  }
  return false;
}

// Scaled points have one rounding more than points. The error of a term grows with its exponent, which the guard
// bounds; tests/testthat/test-scale.R measures the error at the bound.
double most_of(const Precision& precision) {
  return precision.allowed() / precision.unit();
}

Expr scaled(const Exponent& e, const Precision& precision, std::vector<ConditionGuard>* guards) {
  const ScaledPoints a = side_of(e.distance.arg(0)), b = side_of(e.distance.arg(1));
  const int centre = common_centre(a.reading, b.reading);
  const Expr c = e.coefficient, s = e.rooted ? c : sqrt(c), by = a.scale ? s * a.scale : s;
  const Expr of_reach = e.rooted ? c * abs(c) : c;
  const Expr x = centred(a.reading, centre), y = centred(b.reading, centre);
  guards->push_back(
      {variable_read(x), variable_read(y), a.scale ? of_reach * square(a.scale) : of_reach, 0, most_of(precision)});
  const Expr distance = sqdist(by * x, by * y);
  return exp2_minus(e.rooted ? sqrt(distance) : distance);
}

}  // namespace

bool scale_points(const Precision& precision, std::vector<OutputFormula>* outputs,
                  std::vector<ConditionGuard>* guards) {
  const std::vector<Expr> formulas = formulas_of(*outputs);
  Users users;
  for (Expr f : formulas) ++users[f.get()];
  for (Expr f : reachable(formulas))
    for (const Node* arg : f->args) ++users[arg];
  const std::vector<Expr> made = rebuild(formulas, [&](Expr f, const std::vector<Expr>& args) {
    Exponent found;
    return find_exponent(f, users, &found) ? scaled(found, precision, guards) : remade(f, args);
  });
  if (guards->empty()) return false;
  put_formulas(made, outputs);
  return true;
}

// --- factor out ----------------------------------------------------------------------------------------------------
// Splits a product into its factors, each of which is computed where it runs least often.

namespace {

// An inner product <u, v> with u along the kept axis and v along the folded axis.
struct Inner {
  Expr u, v;
};
bool is_inner(Expr f, const Factors& factors, Inner* found) {
  if (f->op != Op::Scalprod || width(f.arg(0)) != width(f.arg(1))) return false;
  const bool forth = f.arg(0)->type.axes.pairs() == factors.kept_axis;
  *found = {f.arg(!forth), f.arg(forth)};
  return found->u->type.axes.pairs() == factors.kept_axis && found->v->type.axes.pairs() == factors.folded_axis;
}

// Returns the result of a sum as a variable of the formula that comes after it.
Expr result_of(const OutputFormula& sum, int number, bool separable) {
  Variable v{"sum",
             sum.keep == Keep::i ? Axis::i : Axis::j,
             Source::data,
             width(sum.value),
             Kind::real,
             Axes(),
             Variable::kResults + number};
  if (separable) v.axis = Axis::param;
  return sum.value->pool->variable(v);
}

Expr simple(Expr f) { return simplify({f}, nullptr)[0]; }

// One output in two steps.
class TwoSteps {
 public:
  TwoSteps(const OutputFormula& o, int number) : sum_(o), after_(o), number_(number), f_(o) {
    sum_.weight = after_.weight = Expr();
    separable_ = f_.pairs.empty() ? f_.kept && f_.folded : f_.pairs.size() == 1 && is_inner(f_.pairs[0], f_, &inner_);
  }
  bool separable() const { return separable_; }
  // Tells whether there is a sum over pairs; pulls(): also whether a factor can be taken out of this sum.
  bool over_pairs() const { return !f_.pairs.empty() && !separable_; }
  bool pulls() const { return over_pairs() && f_.kept; }

  // Appends the sum and the formula of its result: the result itself if no factor is taken out.
  void make(bool separable, Pulled* pulled) {
    if (separable) make_separable();
    else make_pulled();
    pulled->sums.push_back(sum_);
    pulled->after.push_back(after_);
  }

 private:
  void make_pulled() {
    Expr term;
    for (Expr f : f_.pairs) Factors::times(&term, f);
    if (f_.folded) Factors::times(&term, f_.folded);
    if (f_.once) Factors::times(f_.kept ? &f_.kept : &term, f_.once);
    sum_.value = simple(term);
    const Expr result = result_of(sum_, number_, false);
    after_.value = f_.kept ? simple(f_.kept * result) : result;
  }
  // Makes the sum over points of v times the right-hand side w; of all products v_k w_l, for several columns w_l.
  void make_separable() {
    const bool many = f_.folded && width(f_.folded) > 1;
    if (f_.once) Factors::times(f_.kept ? &f_.kept : f_.folded ? &f_.folded : &inner_.u, f_.once);
    if (!inner_.v) sum_.value = f_.folded;
    else sum_.value = !f_.folded ? inner_.v : many ? tensorprod(inner_.v, f_.folded) : f_.folded * inner_.v;
    sum_.value = simple(sum_.value);
    const Expr result = result_of(sum_, number_, true);
    const Expr whole = !inner_.v ? result : many ? vecmatmult(inner_.u, result) : scalprod(inner_.u, result);
    after_.value = simple(f_.kept ? f_.kept * whole : whole);
  }

  OutputFormula sum_, after_;
  const int number_;
  Factors f_;
  Inner inner_;
  bool separable_;
};

bool pull(const std::vector<OutputFormula>& outputs, Pulled* pulled) {
  std::vector<TwoSteps> steps;
  bool all_separable = true, all_over_pairs = true, any_pulls = false;
  for (const OutputFormula& o : outputs) {
    if (o.red != Red::Sum) return false;
    steps.emplace_back(o, static_cast<int>(steps.size()));
    all_separable = all_separable && steps.back().separable() && o.keep == outputs[0].keep;
    all_over_pairs = all_over_pairs && steps.back().over_pairs();
    any_pulls = any_pulls || steps.back().pulls();
  }
  if (!all_separable && !(all_over_pairs && any_pulls)) return false;
  pulled->second = all_separable ? SecondStep::separable : SecondStep::factors;
  for (TwoSteps& s : steps) s.make(all_separable, pulled);
  return true;
}

// The least number of columns for two steps. A sum of so many columns is a matrix product on every device, a softmax
// is not: 3000 rows of 64 components with 64 columns took 0.40 s in one step and 0.05 s in two.
constexpr int kColumnsInTwoSteps = 8;

// Makes sum_j exp(F - L) w of each row, with L = log sum_j exp(F), if all outputs have many columns; else changes none.
bool soften(const std::vector<OutputFormula>& outputs, Pulled* pulled) {
  const auto wide = [](const OutputFormula& o) {
    return o.red == Red::SumSoftMaxWeight && width(o.value) == 1 && width(o.weight) >= kColumnsInTwoSteps;
  };
  if (!std::all_of(outputs.begin(), outputs.end(), wide)) return false;
  pulled->second = SecondStep::pairs;
  for (const OutputFormula& o : outputs) {
    OutputFormula sum = o, after = o;
    sum.red = Red::LogSumExp;
    sum.weight = Expr();
    sum.finish = Finish{};
    after.red = Red::Sum;
    after.value = simple(exp(o.value - result_of(sum, static_cast<int>(pulled->sums.size()), false)));
    pulled->sums.push_back(sum);
    pulled->after.push_back(after);
  }
  return true;
}

}  // namespace

bool in_steps(const std::vector<OutputFormula>& outputs, Pulled* pulled) {
  const auto one_axis = [](const OutputFormula& o) { return o.keep == Keep::i || o.keep == Keep::j; };
  return std::all_of(outputs.begin(), outputs.end(), one_axis) && (pull(outputs, pulled) || soften(outputs, pulled));
}

// --- existing ------------------------------------------------------------------------------------------------------
// Finds the neutral element of a reduction from its row, and gives it to pairs that do not exist.

namespace {

// Computes the result of a state without terms.
double empty_result(const RedRow& r) {
  std::vector<std::int64_t> memory(static_cast<std::size_t>(r.state.bytes(1) / 8 + 1));
  r.state.init(memory.data(), reinterpret_cast<char*>(memory.data()) + r.state.size, 1);
  Lane value(0.0);
  Index index = 0;
  r.state.finish(memory.data(), &value, &index);
  return value.v;
}

// Returns `if (allowed) f else otherwise`, which is logical if f is, unless `otherwise` is NaN.
Expr or_else(Expr allowed, Expr f, double otherwise) {
  const double as_logical = otherwise != 0 ? 1 : 0;
  const bool logical = f->type.kind == Kind::logical && !std::isnan(otherwise);
  Pool* const pool = f->pool;
  return lazy_if(allowed, f, logical ? pool->number(as_logical, Kind::logical) : pool->number(otherwise, Kind::real));
}

}  // namespace

// Reductions with row numbers skip NaN; exp(-Inf) is 0.
double neutral_value(Red red) {
  const RedRow& r = row(red);
  if (r.results == Results::value_index) return std::numeric_limits<double>::quiet_NaN();
  return r.exponents ? -std::numeric_limits<double>::infinity() : empty_result(r);
}

std::vector<OutputFormula> where_allowed(const std::vector<OutputFormula>& outputs, Expr allowed) {
  std::vector<OutputFormula> out = outputs;
  for (OutputFormula& o : out) {
    o.value = or_else(allowed, o.value, neutral_value(o.red));
    if (o.weight) o.weight = or_else(allowed, o.weight, 0);
  }
  return out;
}

}  // namespace kernweave
