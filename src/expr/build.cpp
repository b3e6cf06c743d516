// Formulas made of several operations.
#include "expr/build.hpp"

#include "expr/parse.hpp"

namespace kernweave {

Expr bar(Expr a, Expr b) {
  const bool first = a->type.kind == Kind::logical, second = b->type.kind == Kind::logical;
  if (first != second)
    fail(Fault::kind, "`|` is the inner product of two real formulas or \"or\" of two logical ones, not of `",
         show_short(a), "` (", kind_name(a->type.kind), ") and `", show_short(b), "` (", kind_name(b->type.kind), ")");
  return first ? less_than(0, a + b) : scalprod(a, b);
}

Expr whole_power(Expr x, int n) {
  internal_check(n != 0, "a power of 0");
  if (n < 0) return 1 / whole_power(x, -n);
  if (n == 1) return x;
  const Expr half = whole_power(x, n / 2);
  return n % 2 == 0 ? square(half) : square(half) * x;
}

}  // namespace kernweave
