// Formulas made of several operations.
#include "expr/build.hpp"

namespace kernweave {

Expr whole_power(Expr x, int n) {
  internal_check(n != 0, "a power of 0");
  if (n < 0) return 1 / whole_power(x, -n);
  if (n == 1) return x;
  const Expr half = whole_power(x, n / 2);
  return n % 2 == 0 ? square(half) : square(half) * x;
}

}  // namespace kernweave
