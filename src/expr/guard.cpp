// A guard is a place in a tree: its test, and the guard that it stands in.
#include "expr/guard.hpp"

#include <algorithm>

#include "expr/build.hpp"
#include "expr/on_lane.hpp"

namespace kernweave {
namespace {

bool is_zero(Expr f) { return f->op == Op::Number && f->number == 0; }

Expr truth_value(Pool* pool, bool value) { return pool->number(value, Kind::logical); }
Expr either(Expr a, Expr b) { return lazy_if(a, truth_value(a->pool, true), b); }

// Tells whether f is made of sums, products and absolute values of data, as far as a few levels tell: then f and its
// slopes are as finite as the data.
bool is_polynomial(Expr f, int levels = 4) {
  const OpRow& r = row(f->op);
  if (r.form == Form::structural) return true;
  const std::vector<PowerLaw::Power>& powers = r.law.powers;
  const bool multiplies = r.law && std::all_of(powers.begin(), powers.end(), [](auto p) { return p.power > 0; });
  if (!multiplies && !linear_arguments(f->op, std::vector<bool>(f->args.size(), false))) return false;
  return levels > 0 && std::all_of(f->args.begin(), f->args.end(),
                                   [&](const Node* arg) { return is_polynomial(Expr(arg), levels - 1); });
}

}  // namespace

bool Guards::ends_at(Expr f) {
  const auto is_wider = [&](const Node* arg) { return arg->type.width > width(f); };
  return std::any_of(f->args.begin(), f->args.end(), is_wider) && is_polynomial(f);
}

Expr fitted(Expr f, int wanted) {
  if (width(f) == wanted) return f;
  return wanted == 1 ? sum(f) : sumt(f, wanted);
}

Expr any_component(Expr test) { return width(test) == 1 ? test : less_than(0, sum(test)); }

int Guards::inside(int guard, Expr test, bool when) {
  const auto made = known_.emplace(std::make_tuple(guard, test.get(), when), static_cast<int>(guards_.size()));
  if (made.second) guards_.push_back({guard, test, when, std::max(at(guard).width, width(test)), at(guard).depth + 1});
  return made.first->second;
}

Flow Guards::peeled(Flow flow) {
  while (flow.amount && flow.amount->op == Op::Select) {
    const Expr test = flow.amount.arg(0), yes = flow.amount.arg(1), no = flow.amount.arg(2);
    if (!is_zero(yes) && !is_zero(no)) break;
    flow = {is_zero(no) ? yes : no, inside(flow.guard, test, is_zero(no))};
  }
  return flow;
}

int Guards::narrow(int guard) const {
  while (is_wide(guard)) guard = at(guard).outer;
  return guard;
}

Expr Guards::test_of(int guard, int within) const {
  std::vector<const Guard*> chain;
  for (; guard != within; guard = at(guard).outer) chain.push_back(&at(guard));
  const Guard& first = *chain.back();
  const Expr never = truth_value(first.test->pool, false);
  Expr all = first.when ? first.test : equal(first.test, 0);
  for (auto g = chain.rbegin() + 1; g != chain.rend(); ++g)
    all = (*g)->when ? lazy_if((*g)->test, all, never) : lazy_if((*g)->test, never, all);
  return all;
}

Expr Guards::selected(const Flow& flow, int within) const {
  const auto chosen = [&](const Guard& g, Expr f) { return g.when ? lazy_if(g.test, f, 0) : lazy_if(g.test, 0, f); };
  if (flow.guard == within) return flow.amount;
  const Guard& last = at(flow.guard);
  if (last.outer == within) return chosen(last, flow.amount);
  const Guard& before = at(last.outer);
  const bool is_short = before.outer == within && width(flow.amount) == 1 && last.width == 1;
  if (is_short) return chosen(before, chosen(last, flow.amount));
  return lazy_if(test_of(flow.guard, within), flow.amount, 0);
}

Flow Guards::fitted(Flow flow, int wanted) {
  const int widest = std::max(width(flow.amount), at(flow.guard).width);
  if (widest != wanted && is_wide(flow.guard)) {
    const int outer = narrow(flow.guard);
    flow = {selected(flow, outer), inside(outer, any_component(test_of(flow.guard, outer)), true)};
  }
  return {kernweave::fitted(flow.amount, wanted), flow.guard};
}

int Guards::common(int a, int b) const {
  while (a != b) {
    int& deeper = at(a).depth < at(b).depth ? b : a;
    deeper = at(deeper).outer;
  }
  return a;
}

Flow Guards::sum(const Flow& a, const Flow& b) {
  if (a.guard == b.guard) return {a.amount + b.amount, a.guard};
  const Guard &first = at(a.guard), &second = at(b.guard);
  if (first.outer == second.outer && first.test == second.test) {  // the two sides of one test
    const Expr yes = first.when ? a.amount : b.amount, no = first.when ? b.amount : a.amount;
    return {yes == no ? yes : lazy_if(first.test, yes, no), first.outer};
  }
  const int outer = common(a.guard, b.guard);
  const Expr total = selected(a, outer) + selected(b, outer);
  if (a.guard == outer || b.guard == outer) return {total, outer};
  return {total, inside(outer, either(test_of(a.guard, outer), test_of(b.guard, outer)), true)};
}

}  // namespace kernweave
