// Computes each fact in one pass over the data.
#include "schedule/facts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace kernweave {

namespace {

// Notes the range of numbers that are all finite, eight side by side; returns false if a number is not finite.
bool note_finite_range(const double* numbers, std::int64_t count, Facts* facts) {
  std::array<double, 8> least, largest, zeros{};
  least.fill(std::numeric_limits<double>::infinity());
  largest.fill(-std::numeric_limits<double>::infinity());
  const auto note = [&](double number, std::size_t lane) {
    least[lane] = std::min(least[lane], number);
    largest[lane] = std::max(largest[lane], number);
    zeros[lane] += 0 * number;
  };
  std::int64_t k = 0;
  for (; k + 8 <= count; k += 8)
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < 8; ++lane) note(numbers[static_cast<std::size_t>(k) + lane], lane);
  for (; k < count; ++k) note(numbers[k], 0);
  facts->least = *std::min_element(least.begin(), least.end());
  facts->largest = *std::max_element(largest.begin(), largest.end());
  return std::all_of(zeros.begin(), zeros.end(), [](double zero) { return zero == 0; });
}

}  // namespace

void note_range(const View& view, Facts* facts) {
  if (note_finite_range(view.data, view.rows * view.columns, facts)) return;
  facts->least = std::numeric_limits<double>::infinity();
  facts->largest = -facts->least;
  for (std::int64_t k = 0; k < view.rows * view.columns; ++k) {
    if (!std::isfinite(view.data[k])) facts->finite = false;
    else {
      facts->least = std::min(facts->least, view.data[k]);
      facts->largest = std::max(facts->largest, view.data[k]);
    }
  }
}

namespace {

// The number of rows whose squares are added up together: compilers vectorise loops of a constant length.
constexpr std::int64_t kTogether = 512;
using Squares = std::array<double, kTogether>;

void add_squares(const double* column, std::int64_t rows, double middle, Squares* squares) {
  if (rows == kTogether) {
    for (std::int64_t r = 0; r < kTogether; ++r) (*squares)[r] += (column[r] - middle) * (column[r] - middle);
  } else {
    for (std::int64_t r = 0; r < rows; ++r) (*squares)[r] += (column[r] - middle) * (column[r] - middle);
  }
}

}  // namespace

// Takes kTogether rows at a time, so that columns are read in order and totals stay in cache. The sum of all totals
// keeps a NaN, which the maximum loses.
void note_reach(const View& view, const std::vector<double>& centre, Facts* facts) {
  Squares largest{}, total{};
  for (std::int64_t first = 0; first < view.rows; first += kTogether) {
    const std::int64_t rows = std::min(kTogether, view.rows - first);
    Squares squares{};
    for (std::int64_t d = 0; d < view.columns; ++d)
      add_squares(view.data + d * view.rows + first, rows, centre[static_cast<std::size_t>(d)], &squares);
    for (std::int64_t r = 0; r < kTogether; ++r) {
      largest[r] = largest[r] < squares[r] ? squares[r] : largest[r];
      total[r] += squares[r];
    }
  }
  const bool finite = std::isfinite(std::accumulate(total.begin(), total.end(), 0.0));
  const double most =
      finite ? *std::max_element(largest.begin(), largest.end()) : std::numeric_limits<double>::quiet_NaN();
  if (!(facts->reach >= most)) facts->reach = most;
}

namespace {

// A summary of the finite numbers among some numbers.
struct FiniteSummary {
  double total = 0, count = 0, least = std::numeric_limits<double>::infinity(), largest = -least;

  void add(double number) {
    if (!std::isfinite(number)) return;
    total += number;
    count += 1;
    least = std::min(least, number);
    largest = std::max(largest, number);
  }
  // Returns the mean, rounded to a multiple of a power of 2 that is at most 1/64 of the range, so that integers and
  // half-integers less the centre are exact in few digits.
  double middle() const {
    if (count == 0 || !std::isfinite(total)) return 0.0;
    if (largest == least) return least;
    const double step = std::ldexp(1.0, std::ilogb(largest - least) - 6), steps = total / count / step;
    return step > 0 && std::isfinite(steps) ? std::nearbyint(steps) * step : total / count;
  }
};

}  // namespace

std::int64_t step_of_centre(std::int64_t rows) {
  constexpr std::int64_t kPoints = 1000;  // enough to find the middle of a cloud of points
  return std::max<std::int64_t>(1, rows / kPoints);
}

std::vector<double> centre_of(const View& view) {
  std::vector<double> centre(static_cast<std::size_t>(view.columns), 0.0);
  const std::int64_t step = step_of_centre(view.rows);
  for (std::size_t d = 0; d < centre.size(); ++d) {
    FiniteSummary cloud;
    for (std::int64_t r = 0; r < view.rows; r += step)
      cloud.add(view.data[r + static_cast<std::int64_t>(d) * view.rows]);
    centre[d] = cloud.middle();
  }
  return centre;
}

}  // namespace kernweave
