// A value of a formula as a product: factors of either side, a formula of the squared distance, and a polynomial of the
// difference of the points.
#pragma once
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>
#include "distance/polynomial.hpp"
#include "plan/plan.hpp"

namespace kernweave {
namespace distance {

// --- linear maps ----------------------------------------------------------------------------------------------------
// Linear operations on components: what each component of a result takes of an argument.

// For each component of a result: the components of the argument that it takes, and how often.
using LinearMap = std::vector<std::vector<std::pair<int, double>>>;

// Tells whether each component of a result is a component of the argument.
bool chooses(const LinearMap& map);

// The map of an argument that a step is linear in. `numbers` are the values of those that are fixed, by their places.
LinearMap map_of(const Step& step, std::size_t argument, const std::vector<std::vector<double>>& numbers);

// The map applied to components that are sums: add(other, times) adds a multiple of another. One component stands for
// all of the same.
template <class T>
std::vector<T> mapped(const LinearMap& map, const std::vector<T>& value) {
  std::vector<T> out(map.size());
  for (std::size_t c = 0; c < map.size(); ++c)
    for (const auto& [from, times] : map[c])
      out[c].add(value[value.size() == 1 ? 0 : static_cast<std::size_t>(from)], times);
  return out;
}

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
