// Values at a grid of Chebyshev points, and a cosine transform along each side.
#include "far/chebyshev_products.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "distance/square_matrix.hpp"
#include "kernweave/elementary.hpp"

namespace kernweave {
namespace far {
namespace {

using distance::SquareMatrix;

constexpr double kCoefficientOfRounding = 1e-15;  // smaller coefficients are 0

ChebyshevProducts::Mass mass_of(const SquareMatrix& coefficients, std::size_t terms, ErrorSum count) {
  const std::size_t n = coefficients.rows();
  std::vector<double> shells(n, 0.0);  // of those with the same larger one of a and b
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) {
      const double number = coefficients.at(a, b);
      if (std::abs(number) > kCoefficientOfRounding) shells[std::max(a, b)] += counted(number, count);
    }
  ChebyshevProducts::Mass mass;
  mass.outside.resize(terms + 1);
  for (std::size_t shell = n; shell-- > 0;) {
    mass.all += shells[shell];
    if (shell <= terms) mass.outside[shell] = mass.all;
  }
  return mass;
}

}  // namespace

ChebyshevProducts::ChebyshevProducts(int degrees, int terms)
    : degrees(degrees), terms(terms), numbers_(static_cast<std::size_t>(degrees * terms * terms)) {
  const int points = std::max(degrees, terms) + 1;
  const auto n = static_cast<std::size_t>(points);
  SquareMatrix transform(n), half(n), now(n, 1.0), next(n);
  const auto node = [&](std::size_t k) { return std::cos(kPi * (static_cast<double>(k) + 0.5) / points); };
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t k = 0; k < n; ++k) {
      const double permutation = kPi * static_cast<double>(a) * (static_cast<double>(k) + 0.5) / points;
      transform.at(a, k) = (a ? 2.0 : 1.0) / points * std::cos(permutation);
      next.at(a, k) = half.at(a, k) = (node(a) - node(k)) / 2;
    }
  for (int m = 0; m < degrees; ++m) {  // now: T_m of half the difference, next: T_{m+1}
    const SquareMatrix found = product(product(transform, now), transform, true);
    for (int a = 0; a < terms; ++a)
      for (int b = 0; b < terms; ++b)
        numbers_[place(m, a, b)] = found.at(static_cast<std::size_t>(a), static_cast<std::size_t>(b));
    sizes_.push_back(mass_of(found, static_cast<std::size_t>(terms), ErrorSum::sizes));
    squares_.push_back(mass_of(found, static_cast<std::size_t>(terms), ErrorSum::squares));
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b) now.at(a, b) = 2 * half.at(a, b) * next.at(a, b) - now.at(a, b);
    std::swap(now, next);
  }
}

const ChebyshevProducts& chebyshev_products(int degrees, int terms) {
  static std::mutex door;
  static std::map<std::pair<int, int>, std::unique_ptr<ChebyshevProducts>> made;
  const std::lock_guard<std::mutex> inside(door);
  std::unique_ptr<ChebyshevProducts>& table = made[{degrees, terms}];
  if (!table) table = std::make_unique<ChebyshevProducts>(degrees, terms);
  return *table;
}

}  // namespace far
}  // namespace kernweave
