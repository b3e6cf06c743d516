// The series of the formula on the differences of two boxes, from its values at Chebyshev points. What interpolation is
// off by is bounded before, what is dropped after is added up.
#include "far/box_class.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "distance/bounds.hpp"
#include "far/loops.hpp"
#include "kernweave/elementary.hpp"

namespace kernweave {
namespace far {
namespace {

// Shares of the tolerance: what interpolation may be off by, and what too low degrees are; the rest is for small
// coefficients. In a proof the first two count by sizes of weights, the rest by their moments, which are far less.
struct Shares {
  double series, degrees;
};
constexpr Shares shares_of(Grade grade) { return grade == Grade::proof ? Shares{0.03, 0.1} : Shares{0.1, 0.25}; }
// Of what the terms of a series come to, what rounding may: of coefficients, of moments, and of the sum. A series that
// has no more digits than that is none, as where the formula is much larger between the points of a box than anywhere
// that points are.
constexpr double kVolumeOfRounding = 32 * std::numeric_limits<double>::epsilon(), kMostRounding = 0.5;
// Later axes add their errors times the growth of interpolation along those before, which is less than this in all.
constexpr double kGrowth = 15;

template <int D>
constexpr std::array<int, 3> kPoints = D == 3 ? std::array<int, 3>{12, 20, 30} : std::array<int, 3>{12, 24, 48};

// Squared distances along one axis. Boxes reach a little further than they are: which one a point at an edge is in is a
// matter of rounding.
constexpr double kEdge = 0x1p-20;
distance::DistanceRange reach_of(int offset, double half) {
  const double near = std::max(0.0, 2.0 * (offset - 1) - kEdge) * half, far = reach_along(offset, half);
  return {near * near, far * far};
}

// The tolerance of the formula alone, where a component of the difference is multiplied by it.
template <int D>
Demands without_difference(Demands demands, const Offset<D>& offset, double half) {
  double most = 0;
  for (const int along : offset) most = std::max(most, reach_along(along, half));
  demands.tolerance /= std::pow(most, demands.power);
  return demands;
}

template <int D>
double error_of_series(const distance::Profile& k, const Offset<D>& offset, double half, int points, double allowed) {
  double all = 0, growth = 1, along = 0;
  for (std::size_t d = 0; d < D; ++d) {
    distance::SeriesDomain stretch{2 * half * offset[d], 2 * half, 0, 0};
    for (std::size_t e = 0; e < D; ++e) {
      if (e == d) continue;
      const distance::DistanceRange other = reach_of(offset[e], half);
      stretch.c_least += other.least;
      stretch.c_most += other.most;
    }
    const bool is_as_before = d > 0 && offset[d] == offset[d - 1];
    if (!is_as_before) along = distance::interpolation_error(k, stretch, points, allowed / kGrowth, allowed);
    all += growth * along;
    growth *= 1 + 2 / kPi * std::log(points);
    if (!(all <= allowed)) break;
  }
  return all;
}

// Along an axis: the squared differences at Chebyshev points, and what takes values there to coefficients. At an offset
// of 0 the formula is the same on both sides of the middle, so half of the points do; they are even in number.
struct Along {
  std::vector<double> squares, cosines;

  Along(int offset, double half, int points) {
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

// Coefficients by the degrees along the axes, in this unit.
template <int D>
std::vector<double> series(const distance::Profile& k, const Offset<D>& offset, double half, int points, double unit) {
  std::vector<Along> axes;
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
  for (const Along& axis : axes) numbers = along_axis(numbers, axis.count(), axis.cosines, points);
  return numbers;
}

// A series of so many degrees keeps a few per cent of its coefficients, and no fewer than these.
template <int D>
double least_coefficients(int degrees) {
  return 0.5 * std::pow(degrees, 4 * D / 3.0);
}

// Is interpolation in so many points enough for a series? Then the class has it. Numbers are in units of about the
// tolerance, as squares of small ones would be 0.
template <int D>
bool is_far(const distance::Profile& k, const Demands& demands, const Offset<D>& offset, double half,
            double most_coefficients, int points, BoxClass* found) {
  const double unit = std::exp2(std::ilogb(demands.tolerance)), tolerance = demands.tolerance / unit;
  const Count count = demands.grade == Grade::audit ? Count::squares : Count::sizes;
  const Shares shares = shares_of(demands.grade);
  const double tail = error_of_series<D>(k, offset, half, points, shares.series * demands.tolerance) / unit;
  if (!(tail <= shares.series * tolerance)) return false;
  const PairTable& table = pair_table(points, kMostDegreesOf<D>);
  const std::vector<double> of_difference = series<D>(k, offset, half, points, unit);
  const std::vector<double> out = left_out<D>(of_difference, table, count);
  const double rounding = kVolumeOfRounding * out[0];
  if (!(rounding <= kMostRounding * tolerance)) return false;
  const double outside = shares.degrees * tolerance;
  const auto enough = std::find_if(out.begin() + 1, out.end(), [&](double o) { return o <= outside; });
  if (enough == out.end()) return false;
  const auto degrees = static_cast<int>(enough - out.begin());
  if (least_coefficients<D>(degrees) > most_coefficients) return false;
  const double room =
      count == Count::squares ? shares.degrees * tolerance * tolerance : tolerance - rounding - *enough - tail;
  PairSeries& kept = found->series = of_both_boxes<D>(of_difference, table, degrees, count, room);
  found->bound = unit * (rounding + *enough + tail +
                         (count == Count::squares ? std::sqrt(kept.of_rows + kept.of_small) : kept.of_rows));
  found->kept = static_cast<double>(
      std::count_if(kept.coefficients.begin(), kept.coefficients.end(), [&](double c) { return kept.keeps(c); }));
  for (double& coefficient : kept.coefficients) coefficient *= unit;
  kept.least *= unit;
  found->fate = Fate::far;
  return true;
}

}  // namespace

double reach_along(int offset, double half) { return (2.0 * (std::abs(offset) + 1) + kEdge) * half; }

template <int D>
BoxClass class_of(const distance::Profile& k, const Demands& asked, const Offset<D>& offset, double half,
                  double most_coefficients) {
  const Demands demands = without_difference<D>(asked, offset, half);
  BoxClass found;
  double least = 0, most = 0;
  for (const int along : offset) {
    const distance::DistanceRange reach = reach_of(along, half);
    least += reach.least;
    most += reach.most;
  }
  if (least > 0) {
    found.bound = distance::largest(k, least, most, demands.tolerance);
    if (found.bound <= demands.tolerance) {
      found.fate = Fate::skipped;
      return found;
    }
  }
  if (most_coefficients <= 0) return found;
  for (const int points : kPoints<D>)
    if (is_far<D>(k, demands, offset, half, most_coefficients, points, &found)) break;
  if (found.kept > most_coefficients) {
    found.fate = Fate::split;
    found.series = {};
  }
  return found;
}

template BoxClass class_of<1>(const distance::Profile&, const Demands&, const Offset<1>&, double, double);
template BoxClass class_of<2>(const distance::Profile&, const Demands&, const Offset<2>&, double, double);
template BoxClass class_of<3>(const distance::Profile&, const Demands&, const Offset<3>&, double, double);

}  // namespace far
}  // namespace kernweave
