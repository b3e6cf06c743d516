// Makes a Chebyshev expansion of the kernel on the differences of two boxes, by interpolation. The interpolation error
// is bounded first; the sizes of dropped coefficients are added to it.
#include "far/offset_class.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "distance/profile.hpp"
#include "far/loops.hpp"
#include "kernweave/elementary.hpp"

namespace kernweave {
namespace far {
namespace {

// Shares of the tolerance: for interpolation, for degrees that are left out, and the rest for small coefficients. In a
// proof the first two are multiplied by sizes of weights, the rest by moments of weights, which are far smaller.
struct ToleranceShares {
  double expansion_of, degrees;
};
constexpr ToleranceShares shares_of(Grade grade) {
  return grade == Grade::proof ? ToleranceShares{0.03, 0.1} : ToleranceShares{0.1, 0.25};
}
// The rounding error of coefficients, moments and sums, relative to the sum of the terms' sizes; and the largest one,
// in tolerances. Rounding is large if the formula is much larger between the points of a box than at the points.
constexpr double kVolumeOfRounding = 32 * std::numeric_limits<double>::epsilon(), kMostRounding = 0.5;
// The errors of later axes grow by the interpolation along earlier axes; in all, they grow by less than this factor.
constexpr double kGrowth = 15;

template <int D>
constexpr std::array<int, 3> kPoints = D == 3 ? std::array<int, 3>{12, 20, 30} : std::array<int, 3>{12, 24, 48};

// Returns the range of squared differences along one axis. Boxes are enlarged by kEdge, since the box of a point at an
// edge depends on rounding.
constexpr double kEdge = 0x1p-20;
distance::DistanceRange squared_differences(int offset, double half) {
  const double near = std::max(0.0, 2.0 * (offset - 1) - kEdge) * half, far = reach_along(offset, half);
  return {near * near, far * far};
}

// Divides the tolerance by the largest power of the difference that may multiply the formula.
template <int D>
Demands without_difference(Demands demands, const Offset<D>& offset, double half) {
  double most = 0;
  for (const int along : offset) most = std::max(most, reach_along(along, half));
  demands.tolerance /= std::pow(most, demands.power);
  return demands;
}

template <int D>
double expansion_error(const distance::Profile& k, const Offset<D>& offset, double half, int points, double allowed) {
  double all = 0, growth = 1, along = 0;
  for (std::size_t d = 0; d < D; ++d) {
    distance::SeriesDomain range{2 * half * offset[d], 2 * half, 0, 0};
    for (std::size_t e = 0; e < D; ++e) {
      if (e == d) continue;
      const distance::DistanceRange other = squared_differences(offset[e], half);
      range.c_least += other.least;
      range.c_most += other.most;
    }
    const bool is_as_before = d > 0 && offset[d] == offset[d - 1];
    if (!is_as_before) along = distance::interpolation_error(k, range, points, allowed / kGrowth, allowed);
    all += growth * along;
    growth *= 1 + 2 / kPi * std::log(points);
    if (!(all <= allowed)) break;
  }
  return all;
}

// Chebyshev points along an axis: squared differences, and the cosine transform from values to coefficients. At offset
// 0 the formula is even, so half of the points, whose number is even, suffice.
struct ChebyshevAxis {
  std::vector<double> squares, cosines;

  ChebyshevAxis(int offset, double half, int points) {
    const bool is_even = offset == 0;
    for (int i = 0; i < (is_even ? points / 2 : points); ++i) {
      const double z = 2 * half * (offset + std::cos(kPi * (i + 0.5) / points));
      squares.push_back(z * z);
      for (int a = 0; a < points; ++a) {
        const double times = (a ? 2.0 : 1.0) / points * std::cos(kPi * a * (i + 0.5) / points);
        cosines.push_back(!is_even ? times : a % 2 ? 0 : 2 * times);
      }
    }
  }
  int count() const { return static_cast<int>(squares.size()); }
};

// Computes the coefficients, by degrees along the axes, in units of `unit`.
template <int D>
std::vector<double> expansion_of(const distance::Profile& k, const Offset<D>& offset, double half, int points,
                                 double unit) {
  std::vector<ChebyshevAxis> axes;
  std::size_t count = 1;
  for (const int of_axis : offset) {
    axes.emplace_back(of_axis, half, points);
    count *= axes.back().squares.size();
  }
  std::vector<double> numbers(count);
  for (std::size_t at = 0; at < count; ++at) {
    double square = 0;
    std::size_t rest = at;
    for (std::size_t d = D; d-- > 0; rest /= axes[d].squares.size())
      square += axes[d].squares[rest % axes[d].squares.size()];
    numbers[at] = k.at(square) / unit;
  }
  for (const ChebyshevAxis& axis : axes) numbers = along_axis(numbers, axis.count(), axis.cosines, points);
  return numbers;
}

// Estimates the least number of coefficients that an expansion of `degrees` degrees keeps: a few per cent of all.
template <int D>
double least_coefficients(int degrees) {
  return 0.5 * std::pow(degrees, 4 * D / 3.0);
}

// Tells whether interpolation in `points` points is accurate enough; if so, sets the class's expansion. Numbers are in
// units of about the tolerance, so that squares of small numbers do not underflow.
template <int D>
bool is_admissible(const distance::Profile& k, const Demands& demands, const Offset<D>& offset, double half,
            double most_coefficients, int points, OffsetClass* found) {
  const double unit = std::exp2(std::ilogb(demands.tolerance)), tolerance = demands.tolerance / unit;
  const ErrorSum count = demands.grade == Grade::audit ? ErrorSum::squares : ErrorSum::sizes;
  const ToleranceShares shares = shares_of(demands.grade);
  const double tail = expansion_error<D>(k, offset, half, points, shares.expansion_of * demands.tolerance) / unit;
  if (!(tail <= shares.expansion_of * tolerance)) return false;
  const ChebyshevProducts& table = chebyshev_products(points, kMostDegreesOf<D>);
  const std::vector<double> of_difference = expansion_of<D>(k, offset, half, points, unit);
  const std::vector<double> out = left_out<D>(of_difference, table, count);
  const double rounding = kVolumeOfRounding * out[0];
  if (!(rounding <= kMostRounding * tolerance)) return false;
  const double outside = shares.degrees * tolerance;
  const auto enough = std::find_if(out.begin() + 1, out.end(), [&](double o) { return o <= outside; });
  if (enough == out.end()) return false;
  const auto degrees = static_cast<int>(enough - out.begin());
  if (least_coefficients<D>(degrees) > most_coefficients) return false;
  const double room =
      count == ErrorSum::squares ? shares.degrees * tolerance * tolerance : tolerance - rounding - *enough - tail;
  KernelExpansion& kept = found->expansion = kernel_expansion<D>(of_difference, table, degrees, count, room);
  found->bound = unit * (rounding + *enough + tail +
                         (count == ErrorSum::squares ? std::sqrt(kept.of_rows + kept.of_small) : kept.of_rows));
  found->kept = static_cast<double>(
      std::count_if(kept.coefficients.begin(), kept.coefficients.end(), [&](double c) { return kept.keeps(c); }));
  for (double& coefficient : kept.coefficients) coefficient *= unit;
  kept.least *= unit;
  found->admissibility = Admissibility::admissible;
  return true;
}

}  // namespace

double reach_along(int offset, double half) { return (2.0 * (std::abs(offset) + 1) + kEdge) * half; }

template <int D>
OffsetClass class_of(const distance::Profile& k, const Demands& asked, const Offset<D>& offset, double half,
                  double most_coefficients) {
  const Demands demands = without_difference<D>(asked, offset, half);
  OffsetClass found;
  double least = 0, most = 0;
  for (const int along : offset) {
    const distance::DistanceRange reach = squared_differences(along, half);
    least += reach.least;
    most += reach.most;
  }
  if (least > 0) {
    found.bound = distance::largest(k, least, most, demands.tolerance);
    if (found.bound <= demands.tolerance) {
      found.admissibility = Admissibility::negligible;
      return found;
    }
  }
  if (most_coefficients <= 0) return found;
  for (const int points : kPoints<D>)
    if (is_admissible<D>(k, demands, offset, half, most_coefficients, points, &found)) break;
  if (found.kept > most_coefficients) {
    found.admissibility = Admissibility::subdivided;
    found.expansion = {};
  }
  return found;
}

template OffsetClass class_of<1>(const distance::Profile&, const Demands&, const Offset<1>&, double, double);
template OffsetClass class_of<2>(const distance::Profile&, const Demands&, const Offset<2>&, double, double);
template OffsetClass class_of<3>(const distance::Profile&, const Demands&, const Offset<3>&, double, double);

}  // namespace far
}  // namespace kernweave
