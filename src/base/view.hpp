// A view of a matrix that somebody else owns: a pointer and extents, columns one after the other; or a sparse matrix.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace kernweave {

// --- range ---------------------------------------------------------------------------------------------------------
// Half-open ranges of places, and ranges of values.

// The places from .. to - 1: points of an axis, rows, or columns.
struct Range {
  std::int64_t from = 0, to = 0;

  std::int64_t size() const { return to - from; }
  friend bool operator==(const Range& a, const Range& b) { return a.from == b.from && a.to == b.to; }
};

// The values from `least` to `most`, both included.
struct ValueRange {
  double least, most;
};

struct View;

// A copy of numbers that a back end keeps in the memory of a device.
class Copy {
 public:
  virtual ~Copy() = default;
  virtual void fetch(void* to, std::size_t bytes) const = 0;
  // Returns the rows 0, step, 2 step, ... of the view's points, column by column; no value if fetching all points is as
  // fast.
  virtual std::optional<std::vector<double>> some_rows(const View&, std::int64_t /*step*/) const { return {}; }
  // Returns the largest squared distance of a row from the centre; NaN if a distance is not finite.
  virtual std::optional<double> reach(const View&, const std::vector<double>& /*centre*/) const { return {}; }
};

// Results about data, kept by the owner of the data as long as the data do not change.
struct Kept {
  std::map<int, std::unique_ptr<Copy>> copies;  // by the number of their device
  std::vector<double> middle;                   // the middle of the points, if it was computed
  std::vector<double> centre;                   // the last centre for which the reach of the points was computed
  double reach = 0;
  std::optional<ValueRange> range;  // an interval that contains all numbers, if it is known; then all are finite
};

struct View {
  const double* data = nullptr;  // null also if the numbers lie on a device alone
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Kept* kept = nullptr;  // null if nothing is kept
  // For a sparse matrix: the start of each column's entries, and the row of each entry, as below; else null.
  const int* starts = nullptr;
  const int* places = nullptr;
  // If several matrices lie one behind the other and are kept together: the count of numbers before this matrix, and
  // the count of numbers of all matrices. Both are 0 for a single matrix.
  std::int64_t before = 0, all = 0;
  // The distance from a column's first number to the next column's, if the columns are windows over a shared vector:
  // negative if the next column lies before; 0 if columns lie one after the other.
  std::int64_t apart = 0;

  std::int64_t step() const { return apart != 0 ? apart : rows; }
  std::int64_t first() const { return apart < 0 ? (1 - columns) * apart : 0; }  // the offset of the first column
  std::int64_t numbers() const {  // the count of numbers that are kept
    if (apart != 0) return rows + (columns - 1) * (apart < 0 ? -apart : apart);
    return all > 0 ? all : rows * columns;
  }
  std::int64_t matrices() const { return all > 0 ? all / (rows * columns) : 1; }
  bool sparse() const { return starts != nullptr; }
};

// --- sparse --------------------------------------------------------------------------------------------------------
// Matrices with mostly zeros, in the form of the Matrix package: for each column the rows of its nonzero entries, in
// order.

// Returns the first stored entry of a column at this row or below.
inline std::int64_t find_entry(const View& view, std::int64_t row, std::int64_t column) {
  const int *first = view.places + view.starts[column], *end = view.places + view.starts[column + 1];
  return std::lower_bound(first, end, static_cast<int>(row)) - view.places;
}

inline double entry(const View& view, std::int64_t row, std::int64_t column) {
  const std::int64_t at = find_entry(view, row, column);
  return at < view.starts[column + 1] && view.places[at] == row ? view.data[at] : 0.0;
}

// Writes some rows of a column, including its zeros.
template <class T>
void write_column(const View& view, std::int64_t column, std::int64_t from, std::int64_t count, T* out) {
  std::fill(out, out + count, T(0));
  for (std::int64_t at = find_entry(view, from, column); at < view.starts[column + 1] && view.places[at] < from + count;
       ++at)
    out[view.places[at] - from] = static_cast<T>(view.data[at]);
}

// Tells whether all places are inside the matrix and in order.
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
