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
// Linear operations on components: each component of a result is a sum of components of an argument, times numbers.

// For each component of a result: the components of the argument in its sum, and the numbers that multiply them.
using LinearMap = std::vector<std::vector<std::pair<int, double>>>;

// Tells whether each component of a result is a component of the argument.
bool chooses(const LinearMap& map);

// Returns the map of an argument in which a step is linear. `numbers` are the values of fixed arguments, by argument.
LinearMap map_of(const Step& step, std::size_t argument, const std::vector<std::vector<double>>& numbers);

// Applies the map to components that are sums: add(other, times) adds a multiple of another component. If all
// components are equal, one stands for all.
template <class T>
std::vector<T> mapped(const LinearMap& map, const std::vector<T>& value) {
  std::vector<T> out(map.size());
  for (std::size_t c = 0; c < map.size(); ++c)
    for (const auto& [from, times] : map[c])
      out[c].add(value[value.size() == 1 ? 0 : static_cast<std::size_t>(from)], times);
  return out;
}

// A value of one side that multiplies or divides, and the number of its component for each component of the product;
// one number stands for all.
struct Factor {
  Ref ref;
  bool divides;
  std::vector<int> components;
};

struct RadialProduct {
  static constexpr int kOne = -1;  // the place of a formula of the distance that is 1

  std::vector<Factor> rows, columns;
  Polynomials polynomials = {Polynomial::number(1)};
  int place = kOne;  // the place of the formula of the distance in the profile
  // The operation that adds up all components, if their factors differ. The sum is postponed: another sum may join them
  // to a difference; else results are added up after the sums over pairs (RadialForm::adds_up).
  std::optional<Op> adds_up{};

  int degree() const { return degree_of(polynomials); }
  bool is_single() const { return polynomials.size() == 1; }
  bool is_zero() const { return distance::is_zero(polynomials); }
  bool has_factors() const { return !rows.empty() || !columns.empty(); }
  const Factor& first_factor() const { return (rows.empty() ? columns : rows)[0]; }
};

RadialProduct constant_product(const std::vector<double>& numbers);

// Returns the product without its place; the caller adds a step for the place to the profile.
RadialProduct product(RadialProduct a, const RadialProduct& b);
RadialProduct inverse(RadialProduct value);
RadialProduct opposite(RadialProduct value);
// Applies a linear operation to the value. Refuses to add up components with different factors, since the sum is no
// product.
RadialProduct mapped(const LinearMap& map, RadialProduct value, Op op);
// Returns the sum of all `width` components; postpones it (`adds_up`) if they have different factors.
RadialProduct folded(RadialProduct value, int width, Op op);
bool same_factors(const RadialProduct& a, const RadialProduct& b);
// Returns the factor that `more` has and `less` lacks, if all other factors are the same.
std::optional<Factor> one_more(std::vector<Factor> more, const std::vector<Factor>& less);

}  // namespace distance
}  // namespace kernweave
