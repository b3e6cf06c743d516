// One pass over the data, column by column.
#include "schedule/facts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kernweave {

Facts facts_of(const View& view) {
  const double inf = std::numeric_limits<double>::infinity();
  Facts facts{view.rows, inf, -inf, true, {}};
  for (std::int64_t c = 0; c < view.columns; ++c) {
    double total = 0;
    std::int64_t count = 0;
    for (std::int64_t r = 0; r < view.rows; ++r) {
      const double value = view.data[r + c * view.rows];
      if (!std::isfinite(value)) {
        facts.finite = false;
        continue;
      }
      facts.least = std::min(facts.least, value);
      facts.largest = std::max(facts.largest, value);
      total += value;
      ++count;
    }
    facts.centre.push_back(count > 0 ? total / static_cast<double>(count) : 0.0);
  }
  return facts;
}

}  // namespace kernweave
