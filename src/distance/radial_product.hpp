// A value of a formula as a product: factors of either side, a formula of the squared distance, and a polynomial of the
// difference of the points.
#pragma once
#include <optional>
#include <vector>

#include "distance/linear.hpp"
#include "distance/polynomial.hpp"
#include "plan/plan.hpp"

namespace kernweave {
namespace distance {

// A value of one side that multiplies or divides, and which of its components each component of the product has; one
// stands for all.
struct Factor {
  Ref ref;
  bool divides;
  std::vector<int> components;
};

struct RadialProduct {
  static constexpr int kOne = -1;  // the place where the formula of the distance is 1

  std::vector<Factor> rows, columns;
  Polynomials polynomials = {Polynomial::number(1)};
  int place = kOne;  // in the profile, of the formula of the distance
  // The operation that will add up all components. It waits while these have different factors: another sum may join
  // them to a difference, else results are added up behind the sums over pairs (RadialForm::adds_up).
  std::optional<Op> adds_up{};

  int degree() const { return degree_of(polynomials); }
  bool is_single() const { return polynomials.size() == 1; }
  bool is_zero() const { return distance::is_zero(polynomials); }
  bool has_factors() const { return !rows.empty() || !columns.empty(); }
  const Factor& first_factor() const { return (rows.empty() ? columns : rows)[0]; }
};

RadialProduct constant_product(const std::vector<double>& numbers);

// All but the place of the product, for which whoever multiplies adds a step to the profile.
RadialProduct product(RadialProduct a, const RadialProduct& b);
RadialProduct inverse(RadialProduct value);
RadialProduct opposite(RadialProduct value);
// The value under a linear operation. Components with different factors are no product once they are added up, so that
// is refused.
RadialProduct mapped(const LinearMap& map, RadialProduct value, Op op);
// The sum of all components, of which there are `width`; it waits (`adds_up`) where they have different factors.
RadialProduct folded(RadialProduct value, int width, Op op);
bool same_factors(const RadialProduct& a, const RadialProduct& b);
// The factor that `more` has besides those of `less`, if that is all it has besides.
std::optional<Factor> one_more(std::vector<Factor> more, const std::vector<Factor>& less);

}  // namespace distance
}  // namespace kernweave
