// Products of tensors are products of matrices between reorderings of components.
#include "expr/tensor.hpp"

#include <algorithm>

#include "expr/attributes.hpp"
#include "expr/build.hpp"
#include "expr/parse.hpp"

namespace kernweave {
namespace {

using Dims = std::vector<int>;

std::string in_r(const Dims& list) {
  std::vector<int> kept;
  keep(list, &kept);
  return show_attributes(kept, std::string(1, kList));
}
std::string by_name(const char* name, const Dims& list) { return sentence("`", name, " = ", in_r(list), "`"); }

long long size_of(const Dims& dims) {
  long long size = 1;
  for (int d : dims) size = d < 1 || size > (1LL << 31) ? 0 : size * d;
  return size;
}

void check_dims(const char* fn, const char* name, const Dims& dims, Expr f) {
  user_check(size_of(dims) == width(f), Fault::shape, fn, "(): ", by_name(name, dims), " does not make the ", width(f),
             width(f) == 1 ? " component" : " components", " of `", show_short(f), "`");
}

// Each of them once among 1, ..., n?
bool are_axes(const Dims& axes, std::size_t n) {
  std::vector<bool> seen(n);
  for (int a : axes) {
    if (a < 1 || static_cast<std::size_t>(a) > n || seen[static_cast<std::size_t>(a) - 1]) return false;
    seen[static_cast<std::size_t>(a) - 1] = true;
  }
  return true;
}

void check_axes(const char* name, const Dims& axes, std::size_t n) {
  user_check(are_axes(axes, n), Fault::shape, "tensordot(): ", by_name(name, axes), " must name axes from 1 to ", n,
             ", each once");
}

int dim(const Dims& dims, int axis) { return dims[static_cast<std::size_t>(axis) - 1]; }
Dims dims_at(const Dims& dims, const Dims& axes) {
  Dims out;
  for (int a : axes) out.push_back(dim(dims, a));
  return out;
}
Dims joined(Dims a, const Dims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The axes that are not among these, in order.
Dims others(const Dims& axes, std::size_t n) {
  Dims out;
  for (int a = 1; a <= static_cast<int>(n); ++a)
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) out.push_back(a);
  return out;
}

// R's aperm(): a component of the result, where the axis `order[k]` of f comes k-th, is which of f?
Expr reordered(Expr f, const Dims& dims, const Dims& order) {
  if (std::is_sorted(order.begin(), order.end())) return f;
  std::vector<int> steps(dims.size(), 1);
  for (std::size_t k = 1; k < dims.size(); ++k) steps[k] = steps[k - 1] * dims[k - 1];
  std::vector<int> places = {1};
  for (int axis : order) {
    const std::size_t before = places.size();
    for (int at = 1; at < dim(dims, axis); ++at)
      for (std::size_t k = 0; k < before; ++k) places.push_back(places[k] + at * dim(steps, axis));
  }
  return pick(f, places);
}

}  // namespace

Expr transpose(Expr matrix, int rows) { return reordered(matrix, {rows, width(matrix) / rows}, {2, 1}); }

Expr kronecker(Expr x, Expr y, const Dims& dims_x, const Dims& dims_y) {
  check_dims("kron", "dims_x", dims_x, x);
  check_dims("kron", "dims_y", dims_y, y);
  user_check(dims_x.size() == dims_y.size(), Fault::shape, "kron(): ", by_name("dims_x", dims_x), " and ",
             by_name("dims_y", dims_y), " must have as many dimensions");
  Dims order;  // the axes of y move faster
  const int n = static_cast<int>(dims_x.size());
  for (int a = 1; a <= n; ++a) order.insert(order.end(), {n + a, a});
  return reordered(tensorprod(x, y), joined(dims_x, dims_y), order);
}

Expr tensor_dot(Expr x, Expr y, const Contraction& wanted) {
  const Dims &dims_x = wanted.dims_x, &dims_y = wanted.dims_y, &axes_x = wanted.axes_x, &axes_y = wanted.axes_y;
  check_dims("tensordot", "dims_x", dims_x, x);
  check_dims("tensordot", "dims_y", dims_y, y);
  check_axes("axes_x", axes_x, dims_x.size());
  check_axes("axes_y", axes_y, dims_y.size());
  const Dims along_x = dims_at(dims_x, axes_x), along_y = dims_at(dims_y, axes_y);
  user_check(along_x == along_y, Fault::shape, "tensordot(): the axes to be summed over have dimensions ",
             in_r(along_x), " in `", show_short(x), "` and ", in_r(along_y), " in `", show_short(y), "`");
  const Dims kept_x = others(axes_x, dims_x.size()), kept_y = others(axes_y, dims_y.size());
  const Expr left = reordered(x, dims_x, joined(kept_x, axes_x)), right = reordered(y, dims_y, joined(axes_y, kept_y));
  const Expr product =
      axes_x.empty() ? tensorprod(left, right) : matmult(left, right, static_cast<int>(size_of(along_x)));
  const Dims dims = joined(dims_at(dims_x, kept_x), dims_at(dims_y, kept_y));
  if (wanted.order.empty()) return product;
  check_axes("order", wanted.order, dims.size());
  user_check(wanted.order.size() == dims.size(), Fault::shape, "tensordot(): ", by_name("order", wanted.order),
             " must name all ", dims.size(), " axes of the result");
  return reordered(product, dims, wanted.order);
}

}  // namespace kernweave
