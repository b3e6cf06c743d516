// Balls that hold the values of a table: by what is known of the function, or by the sizes of its coefficients.
#include <algorithm>
#include <cmath>

#include "distance/radial_table.hpp"
#include "kernweave/op/radial_table.hpp"

namespace kernweave {
namespace distance {
namespace {

int pole_of(const std::vector<double>& table, int order) {
  return static_cast<int>(table[static_cast<std::size_t>(radial::kHead * (1 + order) + radial::kPole)]);
}

// The least and the largest value of the rows between two numbers, by the sizes of their coefficients.
Ball range_of_rows(const std::vector<double>& table, int order, double least, double most) {
  const auto place = radial::TableOrder<double>::of([&](int k) { return table[static_cast<std::size_t>(k)]; },
                                               static_cast<long long>(table.size()), order);
  const auto row_of = [&](double s) {
    const double inside = std::min(std::max(s, place.least), place.most);
    return (radial::bits_of(inside) >> radial::TableOrder<double>::kShift) - place.before;
  };
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (long long row = row_of(least), last = row_of(most); row <= last; ++row) {
    const double* const c = table.data() + place.first + row * radial::kTerms;
    double rest = 0, power = 1;
    for (int k = 1; k < radial::kTerms; ++k) rest += std::abs(c[k]) * (power *= 0.5 / radial::kSegments);
    low = std::min(low, c[0] - rest);
    high = std::max(high, c[0] + rest);
  }
  return low == high ? Ball({low, 0}, 0, true) : rounded(Ball::between(low, high));
}

}  // namespace

Ball bound_of_look_up(const std::vector<double>& table, int order, const Ball& square) {
  if (!square.known()) return Ball::nowhere();
  // Squared distances are not negative, whatever rounding has made of the end of an interval.
  const double least = square.real ? std::max(square.least(), 0.0) : square.least();
  const bool infinite = pole_of(table, order) > 0 && least <= 0;
  if (least < 0 || infinite) return Ball::nowhere();
  switch (static_cast<TableBounds::Evidence>(static_cast<int>(table[0]))) {
    case TableBounds::mixture: {
      // (-1)^k f^(k) is a mixture of Gaussians, too, and falls.
      const double near = look_up(table, order, least);
      if (!square.real) return rounded({0, std::abs(near), false});
      const double far = look_up(table, order, std::max(square.most(), least));
      return rounded(Ball::between(std::min(near, far), std::max(near, far)));
    }
    case TableBounds::by_matern: {
      // phi is the mean of exp(-z w) over a density whose logarithm has a derivative by nu with the variance
      // trigamma(nu), so that |d phi / d nu|^2 <= trigamma(nu) phi(2 Re z); and z phi'(z) / nu is what s = 2 nu r adds.
      if (order > 0 || (pole_of(table, 3) > 0 && least <= 0)) return Ball::nowhere();
      const double by_density = std::sqrt(table[1] * std::max(0.0, look_up(table, 2, 2 * least)));
      const double by_distance = square.size() * std::abs(look_up(table, 3, least)) * table[2];
      return rounded({0, by_density + by_distance, square.real});
    }
    default: return square.real && pole_of(table, order) == 0 ? range_of_rows(table, order, least, square.most())
                                                              : Ball::nowhere();
  }
}

}  // namespace distance
}  // namespace kernweave
