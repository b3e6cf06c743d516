// Reads the formula column of the ALIAS rows as algebra.
#include "expr/alias.hpp"

#include "expr/build.hpp"

namespace kernweave {

Expr expand(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes) {
  [[maybe_unused]] const Expr x = args[0];
  [[maybe_unused]] const Expr y = args.size() > 1 ? args[1] : Expr();
  [[maybe_unused]] const int a0 = attributes.empty() ? 0 : attributes[0];
  [[maybe_unused]] const int a1 = attributes.size() > 1 ? attributes[1] : 0;
  switch (op) {
#define ALIAS1(Name, fn, attributes, formula, ...) \
  case Op::Name: return formula;
#define ALIAS2(Name, fn, attributes, formula, ...) \
  case Op::Name: return formula;
#include "kernweave/ops.def"
    default: break;
  }
  fail(Fault::internal, row(op).name, " is not an alias");
}

}  // namespace kernweave
