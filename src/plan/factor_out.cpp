// A product is taken apart into its factors; each goes where it runs least often.
#include "plan/factor_out.hpp"

#include <algorithm>

#include "expr/build.hpp"
#include "expr/rewrite.hpp"
#include "plan/factors.hpp"

namespace kernweave {
namespace {

// <u, v> with u along the kept axis and v along the other.
struct Inner {
  Expr u, v;
};
bool is_inner(Expr f, const Factors& factors, Inner* found) {
  if (f->op != Op::Scalprod || width(f.arg(0)) != width(f.arg(1))) return false;
  const bool forth = f.arg(0)->type.axes.pairs() == factors.kept_axis;
  *found = {f.arg(!forth), f.arg(forth)};
  return found->u->type.axes.pairs() == factors.kept_axis && found->v->type.axes.pairs() == factors.folded_axis;
}

// The result of a sum, as a variable of the formula that comes after it.
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
  // Tells whether there is a sum over pairs; pulls(): and a factor to be taken out of the sum.
  bool over_pairs() const { return !f_.pairs.empty() && !separable_; }
  bool pulls() const { return over_pairs() && f_.kept; }

  // Appends the sum and the formula after it; the output as it is, where nothing can be taken out.
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
  // Makes the sum over points. For many right-hand sides it is the sums of all their products with the components of v.
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

}  // namespace

bool pull(const std::vector<OutputFormula>& outputs, Pulled* pulled) {
  std::vector<TwoSteps> steps;
  bool all_separable = true, all_over_pairs = true, any_pulls = false;
  for (const OutputFormula& o : outputs) {
    const bool one_axis = o.keep == Keep::i || o.keep == Keep::j;
    if (o.red != Red::Sum || !one_axis) return false;
    steps.emplace_back(o, static_cast<int>(steps.size()));
    all_separable = all_separable && steps.back().separable() && o.keep == outputs[0].keep;
    all_over_pairs = all_over_pairs && steps.back().over_pairs();
    any_pulls = any_pulls || steps.back().pulls();
  }
  if (!all_separable && !(all_over_pairs && any_pulls)) return false;
  pulled->separable = all_separable;
  for (TwoSteps& s : steps) s.make(all_separable, pulled);
  return true;
}

}  // namespace kernweave
