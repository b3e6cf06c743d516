// The specification of a normalised graph.
#include "expr/rewrite.hpp"

#include "base/error.hpp"
#include "expr/parse.hpp"
#include "expr/shape.hpp"

namespace kernweave {
namespace {

std::vector<Expr> args_of(Expr f) {
  std::vector<Expr> args;
  for (std::size_t k = 0; k < f->args.size(); ++k) args.push_back(f.arg(k));
  return args;
}

// Describes the fault of a node; null: no fault.
const char* fault_of(Expr f) {
  const bool gather = f->op == Op::Gather;
  if (gather && f.arg(0)->op != Op::Var) return "a gather of no variable";
  if (!gather && row(f->op).form == Form::structural) return "an unnormalised transpose or subset";
  if (row(f->op).form == Form::alias) return "an alias left over";
  if (!(infer(f->op, args_of(f), f->attributes) == f->type)) return "a node of the wrong type";
  for (const Node* arg : f->args)
    if (arg->id >= f->id) return "a node before its argument";
  return nullptr;
}

}  // namespace

void check_normalised(const std::vector<Expr>& formulas) {
  for (Expr f : reachable(formulas)) {
    if (f->op == Op::Var || f->op == Op::Number) continue;
    const char* fault = fault_of(f);
    if (fault) internal_check(false, fault, ": ", show_short(f));
  }
}

}  // namespace kernweave
