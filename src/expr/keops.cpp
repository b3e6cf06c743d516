// Makes KeOps' operations of ours. An array by rows is, by columns, the array with its axes in the opposite order.
#include "expr/parse.hpp"

#include <algorithm>

#include "expr/build.hpp"
#include "expr/type.hpp"

namespace kernweave {
namespace {

using List = std::vector<int>;

List reversed(List list) {
  std::reverse(list.begin(), list.end());
  return list;
}

void check_product(Expr f, Expr by, const std::string& written) {
  if (width(f) % width(by) != 0)
    fail(Fault::shape, written, ": `", show_short(f), "` has ", width(f), " components, no multiple of the ", width(by),
         " of `", show_short(by), "`");
}

void check_dims(const List& dims, Expr f, const std::string& written) {
  long long size = 1;
  for (int d : dims) size = d < 1 || size > width(f) ? 0 : size * d;
  if (size != width(f))
    fail(Fault::shape, written, ": the dimensions (", show_attributes(dims, std::string(dims.size(), kNumber)),
         ") do not make the ", width(f), " components of `", show_short(f), "`");
}

void check_axes(const List& axes, std::size_t n, const std::string& written) {
  for (int a : axes)
    user_check(a >= 0 && static_cast<std::size_t>(a) < n, Fault::shape, written, ": no axis ", a,
               "; KeOps counts them from 0, here to ", static_cast<int>(n) - 1);
}

// Turns axes counted from 0 among n into axes counted from 1 in the opposite order.
List opposite(const List& axes, std::size_t n, const std::string& written) {
  check_axes(axes, n, written);
  List out;
  for (int a : axes) out.push_back(static_cast<int>(n) - a);
  return out;
}

// Turns KeOps' order into aperm()'s: KeOps gives the place of each axis, aperm() the axis at each place.
List opposite_order(const List& goes_to, const std::string& written) {
  const std::size_t n = goes_to.size();
  check_axes(goes_to, n, written);
  List order(n);
  for (std::size_t axis = 0; axis < n; ++axis)
    order[n - 1 - static_cast<std::size_t>(goes_to[axis])] = static_cast<int>(n - axis);
  return order;
}

Expr kron_by_rows(Expr x, Expr y, const List& attributes, const std::string& written) {
  Attributes lists(attributes);
  const List dims_x = lists.list(), dims_y = lists.list();
  check_dims(dims_x, x, written);
  check_dims(dims_y, y, written);
  return kronecker(x, y, reversed(dims_x), reversed(dims_y));
}

Expr tensor_dot_by_rows(Expr x, Expr y, const List& attributes, const std::string& written) {
  Attributes lists(attributes);
  const List dims_x = lists.list(), dims_y = lists.list(), axes_x = lists.list(), axes_y = lists.list();
  check_dims(dims_x, x, written);
  check_dims(dims_y, y, written);
  const List along_x = opposite(axes_x, dims_x.size(), written), along_y = opposite(axes_y, dims_y.size(), written);
  return tensor_dot(y, x,
                    {reversed(dims_y), reversed(dims_x), along_y, along_x, opposite_order(lists.list(), written)});
}

}  // namespace

Expr by_rows(Expr matrix, int rows) { return rows == 1 || rows == width(matrix) ? matrix : transpose(matrix, rows); }

Expr make_keops(Op op, std::vector<Expr> args, std::vector<int> attributes, const std::string& written) {
  switch (op) {
    case Op::Elem:
    case Op::Extract:
    case Op::ExtractT: ++attributes[0]; break;
    case Op::ElemT: ++attributes[1]; break;
    case Op::OneHot:
      if (width(args[0]) != 1)
        fail(Fault::shape, written, ": `", show_short(args[0]), "` has ", width(args[0]), " components, not one");
      args[0] = args[0] + 1;
      break;
    case Op::ArgMax: return argmax(args[0]) - 1;
    case Op::ArgMin: return argmin(args[0]) - 1;
    case Op::MatVecMult: check_product(args[0], args[1], written); return vecmatmult(args[1], args[0]);
    case Op::VecMatMult: check_product(args[1], args[0], written); return matvecmult(args[1], args[0]);
    case Op::TensorProd: return tensorprod(args[1], args[0]);
    case Op::Kron: return kron_by_rows(args[0], args[1], attributes, written);
    case Op::TensorDot: return tensor_dot_by_rows(args[0], args[1], attributes, written);
    default: break;
  }
  check_places(op, args, attributes, written, 0);
  return args[0]->pool->make(op, args, attributes);
}

}  // namespace kernweave
