// Matrices of which most entries are 0, as the Matrix package keeps them: of each column the rows of its other entries,
// in order.
#pragma once
#include <algorithm>
#include <cstdint>
#include "base/view.hpp"

namespace kernweave {

// The first entry of a column that is kept from this row on.
inline std::int64_t find_entry(const View& view, std::int64_t row, std::int64_t column) {
  const int *first = view.places + view.starts[column], *end = view.places + view.starts[column + 1];
  return std::lower_bound(first, end, static_cast<int>(row)) - view.places;
}

inline double entry(const View& view, std::int64_t row, std::int64_t column) {
  const std::int64_t at = find_entry(view, row, column);
  return at < view.starts[column + 1] && view.places[at] == row ? view.data[at] : 0.0;
}

// Some rows of a column with its zeros.
template <class T>
void write_column(const View& view, std::int64_t column, std::int64_t from, std::int64_t count, T* out) {
  std::fill(out, out + count, T(0));
  for (std::int64_t at = find_entry(view, from, column); at < view.starts[column + 1] && view.places[at] < from + count;
       ++at)
    out[view.places[at] - from] = static_cast<T>(view.data[at]);
}

// Tells whether the places are inside, in order.
inline bool is_sound(const View& view, std::int64_t entries) {
  if (view.rows < 0 || view.columns < 0 || view.starts[0] != 0 || view.starts[view.columns] != entries) return false;
  for (std::int64_t c = 0; c < view.columns; ++c)
    if (view.starts[c] > view.starts[c + 1] || view.starts[c + 1] > entries) return false;
  for (std::int64_t c = 0; c < view.columns; ++c)
    for (int k = view.starts[c]; k < view.starts[c + 1]; ++k)
      if (view.places[k] < 0 || view.places[k] >= view.rows ||
          (k > view.starts[c] && view.places[k] <= view.places[k - 1]))
        return false;
  return true;
}

}  // namespace kernweave
