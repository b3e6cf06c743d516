// Expands the kernel: axis by axis, polynomials of the difference become products of polynomials of the positions.
// Small rows are dropped before the last axis: with three axes, nine rows in ten.
#include "far/kernel_expansion.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>

#include "distance/polynomial.hpp"
#include "far/loops.hpp"
#include "kernweave/elementary.hpp"

namespace kernweave {
namespace far {
namespace {

// The share of dropped rows in the error of all dropped numbers. The share is smaller in a proof, in which moments of
// weights give sharper bounds for single coefficients, but not for rows.
constexpr double of_rows(ErrorSum count) { return count == ErrorSum::squares ? 0.1 : 0.01; }

// A histogram of sizes, with four bins for each power of two, to drop the smallest numbers without sorting.
class SizeHistogram {
 public:
  static constexpr int kBins = 1024;

  SizeHistogram(const std::vector<double>& numbers, ErrorSum count) {
    for (const double number : numbers) in_[bin(number)] += counted(number, count);
  }
  // Drops the smallest numbers while their sum is less than `room`. Returns the sum, and the least number that is kept.
  void drop(double room, double* dropped, double* least) const {
    int b = 0;
    for (*dropped = 0; b < kBins - 1 && *dropped + in_[static_cast<std::size_t>(b)] < room; ++b)
      *dropped += in_[static_cast<std::size_t>(b)];
    *least = b == 0 ? 0 : std::ldexp(1 + b % 4 / 4.0, b / 4 - kLowest);
  }

 private:
  static constexpr int kLowest = 100;  // the lowest bin begins at 2^-kLowest
  static std::size_t bin(double number) {
    std::int64_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    const std::int64_t step = ((bits & INT64_MAX) >> 50) - (1023 - kLowest) * 4;
    return static_cast<std::size_t>(std::min<std::int64_t>(kBins - 1, std::max<std::int64_t>(0, step)));
  }
  std::array<double, kBins> in_{};
};

// Return the pairs of degrees of the products, and each polynomial of the difference as coefficients of these pairs.
std::vector<KernelExpansion::DegreePair> pairs_of(const ChebyshevProducts& table, int degrees) {
  std::vector<KernelExpansion::DegreePair> pairs;
  for (int a = 0; a < degrees; ++a)
    for (int b = 0; b < degrees && a + b < table.degrees; ++b) pairs.push_back({a, b});
  return pairs;
}
std::vector<double> table_of(const ChebyshevProducts& table, const std::vector<KernelExpansion::DegreePair>& pairs) {
  std::vector<double> out;
  for (int m = 0; m < table.degrees; ++m)
    for (const KernelExpansion::DegreePair& p : pairs) out.push_back(table.at(m, p.target, p.source));
  return out;
}

// Bounds each row of the last axis. The first index of `numbers` is the degree m of the difference's polynomials.
std::vector<double> sizes_of_rows(const std::vector<double>& numbers, const ChebyshevProducts& table, ErrorSum count) {
  const std::size_t many = numbers.size() / static_cast<std::size_t>(table.degrees);
  std::vector<double> sizes(many, 0.0);
  for (std::size_t m = 0; m < static_cast<std::size_t>(table.degrees); ++m) {
    const double all = table.mass(static_cast<int>(m), count).all;
    const double mass = count == ErrorSum::squares ? std::sqrt(all) : all;
    for (std::size_t r = 0; r < many; ++r) sizes[r] += std::abs(numbers[m * many + r]) * mass;
  }
  return sizes;
}

}  // namespace

std::vector<double> along_axis(const std::vector<double>& numbers, int from, const std::vector<double>& table, int to) {
  const auto rest = static_cast<std::int64_t>(numbers.size()) / from;
  std::vector<double> out(static_cast<std::size_t>(rest * to));
  loops().transform(numbers.data(), from, rest, table.data(), to, out.data());
  return out;
}

// Bounds the error of q terms, for each q, by the sum over axes d and degrees m of along[d][m] outside_m[q] / all_m.
// Here along[d][m] is the sum of the coefficients of all products of degree m along axis d.
template <int D>
std::vector<double> left_out(const std::vector<double>& of_difference, const ChebyshevProducts& table, ErrorSum count) {
  const auto points = static_cast<std::size_t>(table.degrees);
  std::array<std::vector<double>, D> along;
  along.fill(std::vector<double>(points, 0.0));
  for (std::size_t at = 0; at < of_difference.size(); ++at) {
    std::array<std::size_t, D> m;
    double whole = counted(of_difference[at], count);
    std::size_t rest = at;
    for (std::size_t d = D; d-- > 0; rest /= points) {
      m[d] = rest % points;
      whole *= table.mass(static_cast<int>(m[d]), count).all;
    }
    for (std::size_t d = 0; d < D; ++d) along[d][m[d]] += whole;
  }
  std::vector<double> out(static_cast<std::size_t>(table.terms) + 1, 0.0);
  for (std::size_t m = 0; m < points; ++m) {
    const ChebyshevProducts::Mass& mass = table.mass(static_cast<int>(m), count);
    for (std::size_t q = 0; q < out.size(); ++q)
      for (std::size_t d = 0; d < D; ++d) out[q] += along[d][m] * mass.outside[q] / mass.all;
  }
  if (count == ErrorSum::squares)
    for (double& number : out) number = std::sqrt(number);
  return out;
}

template <int D>
KernelExpansion kernel_expansion(const std::vector<double>& of_difference, const ChebyshevProducts& table, int degrees,
                                 ErrorSum count, double room) {
  KernelExpansion out;
  out.count = count;
  out.degrees = degrees;
  out.pairs = pairs_of(table, degrees);
  const std::vector<double> products = table_of(table, out.pairs);
  const auto many = static_cast<int>(out.pairs.size());
  std::vector<double> numbers = of_difference;
  for (int d = 0; d + 1 < D; ++d) numbers = along_axis(numbers, table.degrees, products, many);
  const std::vector<double> sizes = sizes_of_rows(numbers, table, count);
  double least = 0;
  SizeHistogram(sizes, count).drop(of_rows(count) * room, &out.of_rows, &least);
  for (std::size_t r = 0; r < sizes.size(); ++r)
    if (sizes[r] >= least) out.rows.push_back(static_cast<int>(r));
  std::vector<double> kept;
  for (std::size_t m = 0; m < static_cast<std::size_t>(table.degrees); ++m)
    for (const int r : out.rows) kept.push_back(numbers[m * sizes.size() + static_cast<std::size_t>(r)]);
  out.coefficients = along_axis(kept, table.degrees, products, many);
  SizeHistogram(out.coefficients, count).drop(room - out.of_rows, &out.of_small, &out.least);
  return out;
}

template std::vector<double> left_out<1>(const std::vector<double>&, const ChebyshevProducts&, ErrorSum);
template std::vector<double> left_out<2>(const std::vector<double>&, const ChebyshevProducts&, ErrorSum);
template std::vector<double> left_out<3>(const std::vector<double>&, const ChebyshevProducts&, ErrorSum);
template KernelExpansion kernel_expansion<1>(const std::vector<double>&, const ChebyshevProducts&, int, ErrorSum,
                                             double);
template KernelExpansion kernel_expansion<2>(const std::vector<double>&, const ChebyshevProducts&, int, ErrorSum,
                                             double);
template KernelExpansion kernel_expansion<3>(const std::vector<double>&, const ChebyshevProducts&, int, ErrorSum,
                                             double);

// --- Chebyshev products ---------------------------------------------------------------------------------------------
// Evaluates the polynomials at a grid of Chebyshev points, then applies a cosine transform along each side.

namespace {

using distance::SquareMatrix;

constexpr double kCoefficientOfRounding = 1e-15;  // smaller coefficients are 0

ChebyshevProducts::Mass mass_of(const SquareMatrix& coefficients, std::size_t terms, ErrorSum count) {
  const std::size_t n = coefficients.rows();
  std::vector<double> shells(n, 0.0);  // sums of coefficients with the same max(a, b)
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
