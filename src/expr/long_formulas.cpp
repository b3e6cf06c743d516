// Basis splines after Cox and de Boor, and time warping. Derivatives follow from the formulas.
#include "expr/rewrite.hpp"

#include "expr/build.hpp"
#include "expr/parse.hpp"

namespace kernweave {
namespace {

void check_one(const char* fn, Expr f) {
  user_check(width(f) == 1, Fault::shape, fn, "(): `", show_short(f), "` has ", width(f), " components; 1 is needed");
}

}  // namespace

// The splines of a basis, a degree more each time: each is the share of the way that x has gone through the knots of
// one spline times it, and what is left to go through those of the next times that. Where knots coincide there is no
// way.
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
