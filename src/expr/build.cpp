// Makes formulas of several operations.
#include "expr/build.hpp"

#include <algorithm>

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

// --- tensors -------------------------------------------------------------------------------------------------------
// Products of tensors are products of matrices between reorderings of components.

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

// Tells whether axes are distinct numbers among 1, ..., n.
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

// Returns the axes from 1 to n that are not in `axes`, in order.
Dims others(const Dims& axes, std::size_t n) {
  Dims out;
  for (int a = 1; a <= static_cast<int>(n); ++a)
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) out.push_back(a);
  return out;
}

// Reorders components as R's aperm() does: axis `order[k]` of f becomes axis k of the result.
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

// --- long formulas -------------------------------------------------------------------------------------------------
// Basis splines after Cox and de Boor, and time warping. Derivatives follow from the formulas.

namespace {

void check_one(const char* fn, Expr f) {
  user_check(width(f) == 1, Fault::shape, fn, "(): `", show_short(f), "` has ", width(f), " components; 1 is needed");
}

}  // namespace

// Makes all splines of a basis, a degree more each time, with knots t_0, t_1, ...:
// B(k, p) = (x - t_k) / (t_{k+p} - t_k) B(k, p-1) + (t_{k+1+p} - x) / (t_{k+1+p} - t_{k+1}) B(k+1, p-1).
// A term whose knots coincide is 0.
Expr b_spline(Expr knots, Expr x, int degree) {
  const int count = width(knots);
  check_one("bspline", x);
  user_check(degree >= 0 && count - 2 >= degree, Fault::shape, "bspline(): ", count, " knots for degree ", degree,
             "; at least ", degree + 2LL, " are needed");
  const auto part = [](Expr f, int first, int n) { return n == width(f) ? f : extract(f, first, n); };
  Expr basis =
      lazy_if(less_or_equal(part(knots, 1, count - 1), x), lazy_if(less_than(x, part(knots, 2, count - 1)), 1, 0), 0);
  for (int p = 1; p <= degree; ++p) {
    const int n = count - 1 - p;
    const auto first = [&](int k) { return part(knots, k, n); };
    const auto per_way = [&](int k) {
      const Expr way = first(k + p) - first(k), none = equal(way, 0);
      return lazy_if(none, 0, 1 / lazy_if(none, 1, way));
    };
    basis = (x - first(1)) * per_way(1) * part(basis, 1, n) + (first(2 + p) - x) * per_way(2) * part(basis, 2, n);
  }
  return basis;
}

// Each place is some ten operations. At 24 x 24 the first sum took 0.3 s and the first gradient 3 s, nearly all of it
// planning, which grows faster than the square of the places.
constexpr int kMostPlaces = 576;

Expr soft_dtw(Expr x, Expr y, Expr gamma) {
  const int n = width(x), m = width(y);
  check_one("softdtw", gamma);
  user_check(1LL * n * m <= kMostPlaces, Fault::shape, "softdtw(): series of ", n, " and ", m,
             " components; their product may be at most ", kMostPlaces);
  const Expr sharpness = 1 / gamma;
  // The soft minimum of two costs: -gamma log(exp(-a / gamma) + exp(-b / gamma)).
  const auto soft_min = [&](Expr a, Expr b) { return a - gamma * softplus(Term((a - b) * sharpness)); };
  std::vector<Expr> before, now;  // costs of the best ways to the places of a row
  for (int i = 1; i <= n; ++i, before.swap(now)) {
    now.clear();
    for (int j = 1; j <= m; ++j) {
      Expr way;
      if (i > 1) way = before[static_cast<std::size_t>(j) - 1];
      if (i > 1 && j > 1) way = soft_min(way, before[static_cast<std::size_t>(j) - 2]);
      if (j > 1) way = way ? soft_min(way, now.back()) : now.back();
      const Expr here = square(elem(x, i) - elem(y, j));
      now.push_back(way ? way + here : here);
    }
  }
  return before.back();
}

}  // namespace kernweave
