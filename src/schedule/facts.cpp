// One pass over the data for each kind of fact.
#include "schedule/facts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace kernweave {

void note_range(const View& view, Facts* facts) {
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

// Some rows at a time, so that each column is read in order and the totals stay at hand.
void note_reach(const View& view, const std::vector<double>& centre, Facts* facts) {
  constexpr std::int64_t kRows = 512;
  std::array<double, kRows> squares;
  for (std::int64_t first = 0; first < view.rows; first += kRows) {
    const std::int64_t rows = std::min(kRows, view.rows - first);
    squares.fill(0.0);
    for (std::int64_t d = 0; d < view.columns; ++d) {
      const double* column = view.data + d * view.rows + first;
      const double middle = centre[static_cast<std::size_t>(d)];
      for (std::int64_t r = 0; r < rows; ++r) squares[r] += (column[r] - middle) * (column[r] - middle);
    }
    // A NaN would get lost in a maximum: the sum of all tells.
    double largest = 0, sum = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      largest = std::max(largest, squares[r]);
      sum += squares[r];
    }
    if (!std::isfinite(sum)) largest = std::numeric_limits<double>::quiet_NaN();
    if (!(facts->reach >= largest)) facts->reach = largest;
    if (std::isnan(largest)) return;
  }
}

std::vector<double> centre_of(const View& view) {
  // Enough to find the middle of a cloud.
  constexpr std::int64_t kPoints = 1000;
  std::vector<double> centre(static_cast<std::size_t>(view.columns), 0.0);
  const std::int64_t step = std::max<std::int64_t>(1, view.rows / kPoints);
  for (std::size_t d = 0; d < centre.size(); ++d) {
    double total = 0, count = 0;
    for (std::int64_t r = 0; r < view.rows; r += step) {
      const double number = view.data[r + static_cast<std::int64_t>(d) * view.rows];
      if (!std::isfinite(number)) continue;
      total += number;
      count += 1;
    }
    centre[d] = count > 0 && std::isfinite(total) ? total / count : 0.0;
  }
  return centre;
}

}  // namespace kernweave
