// The specification of a settled graph.
#include "expr/check.hpp"

#include "base/error.hpp"
#include "expr/shape.hpp"
#include "expr/show.hpp"

namespace kernweave {
namespace {

std::vector<Expr> args_of(Expr f) {
  std::vector<Expr> args;
  for (std::size_t k = 0; k < f->args.size(); ++k) args.push_back(f.arg(k));
  return args;
}

}  // namespace

void check_settled(const std::vector<Expr>& formulas) {
  for (Expr f : reachable(formulas)) {
    if (f->op == Op::Var || f->op == Op::Number) continue;
    const bool gather = f->op == Op::Gather;
    internal_check(!gather || f.arg(0)->op == Op::Var, "a gather of no variable: ", show_short(f));
    internal_check(gather || row(f->op).form != Form::structural, "an unsettled ", row(f->op).name, ": ", show_short(f));
    internal_check(row(f->op).form != Form::alias, "an alias left over: ", show_short(f));
    internal_check(infer(f->op, args_of(f), f->attributes) == f->type, "a node of the wrong type: ", show_short(f));
    for (const Node* arg : f->args) internal_check(arg->id < f->id, "a node before its argument: ", show_short(f));
  }
}

}  // namespace kernweave
