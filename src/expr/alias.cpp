// Reads the formula column of the ALIAS rows as algebra.
#include "expr/rewrite.hpp"

#include "expr/attributes.hpp"
#include "expr/build.hpp"
#include "expr/tensor.hpp"

namespace kernweave {
namespace {

// The squared norm of f by a metric: isotropic, of each component, or a whole symmetric matrix.
Expr metric(Expr by, Expr f) {
  if (width(by) == 1) return by * sqnorm2(f);
  if (width(by) == width(f)) return sum(by * square(f));
  user_check(width(by) == width(f) * width(f), Fault::shape, "a metric of ", width(by), " numbers for ", width(f),
             " components: 1, ", width(f), " or ", width(f) * width(f), " are needed");
  return scalprod(f, matvecmult(by, f));
}

// Returns an angle of a point on a sphere.
Expr angle_of(Expr point, int which) {
  user_check(width(point) == 2, Fault::shape, "a point on a sphere has a latitude and a longitude, not ", width(point),
             width(point) == 1 ? " component" : " components");
  return elem(point, which);
}
Expr latitude(Expr point) { return angle_of(point, 1); }
Expr longitude(Expr point) { return angle_of(point, 2); }

// x, repeated to the width of y where it has one component.
Expr alike(Expr x, Expr y) { return width(x) == 1 && width(y) > 1 ? sumt(x, width(y)) : x; }

// A whole power; x^0 is 1 for all x, NaN too.
Expr whole_power_of(Expr x, int n) { return n == 0 ? lazy_if(equal(x, x), 1, 1) : whole_power(x, n); }

Expr kronecker(Expr x, Expr y, Attributes lists) {
  const std::vector<int> dims_x = lists.list(), dims_y = lists.list();
  return kronecker(x, y, dims_x, dims_y);
}
Expr tensor_dot(Expr x, Expr y, Attributes lists) {
  return tensor_dot(x, y, Contraction{lists.list(), lists.list(), lists.list(), lists.list(), lists.list()});
}

}  // namespace

Expr expanded_alias(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes) {
  [[maybe_unused]] const Expr x = args[0];
  [[maybe_unused]] const Expr y = args.size() > 1 ? args[1] : Expr();
  [[maybe_unused]] const Expr z = args.size() > 2 ? args[2] : Expr();
  [[maybe_unused]] const int a0 = attributes.empty() ? 0 : attributes[0];
  [[maybe_unused]] const int a1 = attributes.size() > 1 ? attributes[1] : 0;
  [[maybe_unused]] const Attributes lists(attributes);
  switch (op) {
#define ALIAS1(Name, fn, attributes, formula, ...) \
  case Op::Name: return formula;
#define ALIAS2(Name, fn, attributes, formula, ...) \
  case Op::Name: return formula;
#define ALIAS3(Name, fn, attributes, formula, ...) \
  case Op::Name: return formula;
#include "kernweave/ops.def"
    default: break;
  }
  fail(Fault::internal, row(op).name, " is not an alias");
}

}  // namespace kernweave
