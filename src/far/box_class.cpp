// The series of the formula on the differences of two boxes, from its values at Chebyshev points. What interpolation is
// off by is bounded before, what is dropped after is added up.
#include "far/box_class.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "far/bounds.hpp"
#include "far/kernels.hpp"
#include "far/pair_table.hpp"

namespace kernweave {
namespace far {
namespace {

constexpr double kPi = 3.141592653589793;

// Shares of the tolerance: what interpolation may be off by, and what too low degrees are; the rest is for small
// coefficients.
constexpr double kOfSeries = 0.1, kOfDegrees = 0.25;
// Later axes add their errors times the growth of interpolation along those before, which is less than this in all.
constexpr double kGrowth = 15;
constexpr double kRounding = 1e-18;  // coefficients are not smaller, relative to the largest value

template <int D>
constexpr std::array<int, 3> kPoints = D == 3 ? std::array<int, 3>{12, 20, 30} : std::array<int, 3>{12, 24, 48};

// Squared distances along one axis. The box of a point at its edge is a matter of rounding.
constexpr double kEdge = 0x1p-20;
Reach reach_of(int offset, double half) {
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
double error_of_series(const Profile& k, const Offset<D>& offset, double half, int points, double allowed) {
  double all = 0, growth = 1;
  for (std::size_t d = 0; d < D; ++d) {
    Stretch stretch{2 * half * offset[d], 2 * half, 0, 0};
    for (std::size_t e = 0; e < D; ++e) {
      if (e == d) continue;
      const Reach other = reach_of(offset[e], half);
      stretch.c_least += other.least;
      stretch.c_most += other.most;
    }
    all += growth * interpolation_error(k, stretch, points, allowed / kGrowth, allowed);
    growth *= 1 + 2 / kPi * std::log(points);
    if (!(all <= allowed)) break;
  }
  return all;
}

// Takes the leading axis of `from` numbers to `to` numbers, which become the last axis.
std::vector<double> along_axis(const std::vector<double>& numbers, int from, const std::vector<double>& table, int to) {
  const auto rest = static_cast<std::int64_t>(numbers.size()) / from;
  std::vector<double> out(static_cast<std::size_t>(rest * to));
  kernels().transform(numbers.data(), from, rest, table.data(), to, out.data());
  return out;
}

// Coefficients by the degrees along the axes.
template <int D>
std::vector<double> series(const Profile& k, const Offset<D>& offset, double half, int points) {
  const auto node = [&](int i) { return std::cos(kPi * (i + 0.5) / points); };
  std::vector<double> numbers(static_cast<std::size_t>(power(points, D)));
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    double square = 0;
    auto rest = static_cast<int>(at);
    for (std::size_t d = D; d-- > 0; rest /= points) {
      const double z = 2 * half * (offset[d] + node(rest % points));
      square += z * z;
    }
    numbers[at] = k.at(square);
  }
  std::vector<double> cosines(static_cast<std::size_t>(points * points));
  for (int i = 0; i < points; ++i)
    for (int a = 0; a < points; ++a)
      cosines[static_cast<std::size_t>(i * points + a)] =
          (a ? 2.0 : 1.0) / points * std::cos(kPi * a * (i + 0.5) / points);
  for (int d = 0; d < D; ++d) numbers = along_axis(numbers, points, cosines, points);
  return numbers;
}

// What is left out for each number of degrees: in size, or the root of the sum of squares.
template <int D>
std::vector<double> left_out(const std::vector<double>& coefficients, const PairTable& table, bool squares) {
  const int points = table.degrees, most = table.terms;
  double largest = 0;
  for (const double c : coefficients) largest = std::max(largest, std::abs(c));
  std::vector<double> out(static_cast<std::size_t>(most) + 1, 0.0);
  for (std::size_t at = 0; at < coefficients.size(); ++at) {
    const double size = std::abs(coefficients[at]);
    if (size < kRounding * largest) continue;
    std::array<const PairTable::Mass*, D> mass;
    auto rest = static_cast<int>(at);
    for (std::size_t d = 0; d < D; ++d, rest /= points) mass[d] = &table.mass(rest % points, squares);
    for (std::size_t q = 1; q < out.size(); ++q) {
      double outside = 0;
      for (std::size_t d = 0; d < D; ++d) {
        double part = mass[d]->outside[q];
        for (std::size_t e = 0; e < D; ++e)
          if (e != d) part *= mass[e]->all;
        outside += part;
      }
      out[q] += squares ? size * size * outside : size * outside;
    }
  }
  if (squares)
    for (double& number : out) number = std::sqrt(number);
  return out;
}

// Sizes of numbers in four steps for each power of two, so that the smallest can be dropped without sorting.
class Sizes {
 public:
  static constexpr int kBins = 1024;

  Sizes(const std::vector<double>& numbers, bool squares) {
    for (const double number : numbers) in_[bin(number)] += squares ? number * number : std::abs(number);
  }
  // Of the smallest, as many as come to less than `room`: what they come to, and the least number that is not one.
  void drop(double room, double* dropped, double* least) const {
    int b = 0;
    for (*dropped = 0; b < kBins - 1 && *dropped + in_[static_cast<std::size_t>(b)] < room; ++b)
      *dropped += in_[static_cast<std::size_t>(b)];
    *least = b == 0 ? 0 : std::ldexp(1 + b % 4 / 4.0, b / 4 - kLowest);
  }

 private:
  static constexpr int kLowest = 100;  // the power of a half of the lowest bin
  static std::size_t bin(double number) {
    std::int64_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    const std::int64_t step = ((bits & INT64_MAX) >> 50) - (1023 - kLowest) * 4;
    return static_cast<std::size_t>(std::min<std::int64_t>(kBins - 1, std::max<std::int64_t>(0, step)));
  }
  std::array<double, kBins> in_{};
};

// Coefficients of the two boxes' polynomials, in place of those of their difference.
template <int D>
std::vector<double> of_both_boxes(std::vector<double> coefficients, const PairTable& table, int degrees) {
  std::vector<double> square(static_cast<std::size_t>(table.degrees * degrees * degrees));
  std::size_t at = 0;
  for (int m = 0; m < table.degrees; ++m)
    for (int a = 0; a < degrees; ++a)
      for (int b = 0; b < degrees; ++b) square[at++] = table.at(m, a, b);
  for (int d = 0; d < D; ++d) coefficients = along_axis(coefficients, table.degrees, square, degrees * degrees);
  return coefficients;
}

// Of a series of so many degrees, a few per cent of the products of polynomials are kept: no fewer than these.
template <int D>
double least_terms(int degrees) {
  return 0.5 * std::pow(degrees, 4 * D / 3.0);
}

// The class by interpolation in so many points, if that is enough.
template <int D>
bool is_far(const Profile& k, const Demands& demands, const Offset<D>& offset, double half, double most_terms,
            int points, BoxClass* found) {
  const double tolerance = demands.tolerance;
  const bool squares = demands.grade == Grade::audit;
  const double tail = error_of_series<D>(k, offset, half, points, kOfSeries * tolerance);
  if (!(tail <= kOfSeries * tolerance)) return false;
  const PairTable& table = pair_table(points, kMostDegreesOf<D>);
  const std::vector<double> of_difference = series<D>(k, offset, half, points);
  const std::vector<double> out = left_out<D>(of_difference, table, squares);
  const auto enough = std::find_if(out.begin() + 1, out.end(), [&](double o) { return o <= kOfDegrees * tolerance; });
  if (enough == out.end()) return false;
  const auto degrees = static_cast<int>(enough - out.begin());
  if (least_terms<D>(degrees) > most_terms) return false;
  found->degrees = degrees;
  found->coefficients = of_both_boxes<D>(of_difference, table, found->degrees);
  const double room = squares ? kOfDegrees * tolerance * tolerance : tolerance - *enough - tail;
  double dropped = 0;
  Sizes(found->coefficients, squares).drop(room, &dropped, &found->least);
  found->bound = *enough + tail + (squares ? std::sqrt(dropped) : dropped);
  found->kept = static_cast<double>(std::count_if(found->coefficients.begin(), found->coefficients.end(),
                                                  [&](double c) { return std::abs(c) >= found->least; }));
  found->kind = BoxClass::Kind::far;
  return true;
}

}  // namespace

double reach_along(int offset, double half) { return (2.0 * (std::abs(offset) + 1) + kEdge) * half; }

template <int D>
BoxClass analysed(const Profile& k, const Demands& asked, const Offset<D>& offset, double half, double most_terms) {
  const Demands demands = without_difference<D>(asked, offset, half);
  BoxClass found;
  double least = 0, most = 0;
  for (const int along : offset) {
    const Reach reach = reach_of(along, half);
    least += reach.least;
    most += reach.most;
  }
  if (least > 0) {
    found.bound = largest(k, least, most, demands.tolerance);
    if (found.bound <= demands.tolerance) {
      found.kind = BoxClass::Kind::skip;
      return found;
    }
  }
  if (most_terms <= 0) return found;
  for (const int points : kPoints<D>)
    if (is_far<D>(k, demands, offset, half, most_terms, points, &found)) break;
  if (found.kept > most_terms) {
    found.kind = BoxClass::Kind::split;
    found.coefficients = {};
  }
  return found;
}

template BoxClass analysed<1>(const Profile&, const Demands&, const Offset<1>&, double, double);
template BoxClass analysed<2>(const Profile&, const Demands&, const Offset<2>&, double, double);
template BoxClass analysed<3>(const Profile&, const Demands&, const Offset<3>&, double, double);

}  // namespace far
}  // namespace kernweave
