// Two passes over each column: the mean first.
#include "schedule/facts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kernweave {

namespace {

// Extremes, finiteness and mean of one column.
void take_column(const double* column, std::int64_t rows, Facts* facts) {
  double total = 0;
  std::int64_t count = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    if (!std::isfinite(column[r])) {
      facts->finite = false;
      continue;
    }
    facts->least = std::min(facts->least, column[r]);
    facts->largest = std::max(facts->largest, column[r]);
    total += column[r];
    ++count;
  }
  const double centre = count > 0 ? total / static_cast<double>(count) : 0.0;
  facts->centre.push_back(centre);
  for (std::int64_t r = 0; r < rows; ++r)
    if (std::isfinite(column[r])) facts->radius = std::max(facts->radius, std::fabs(column[r] - centre));
}

}  // namespace

Facts facts_of(const View& view) {
  const double inf = std::numeric_limits<double>::infinity();
  Facts facts{view.rows, inf, -inf, true, {}, 0};
  for (std::int64_t c = 0; c < view.columns; ++c) take_column(view.data + c * view.rows, view.rows, &facts);
  return facts;
}

}  // namespace kernweave
