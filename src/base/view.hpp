// A matrix of numbers somebody else owns: pointer and extents, columns one after the other.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace kernweave {

// --- range ---------------------------------------------------------------------------------------------------------
// Half-open ranges of places, and ranges of values.

// Places from .. to - 1: points of an axis, rows, columns.
struct Range {
  std::int64_t from = 0, to = 0;

  std::int64_t size() const { return to - from; }
  friend bool operator==(const Range& a, const Range& b) { return a.from == b.from && a.to == b.to; }
};

// Values from `least` to `most`, both among them.
struct ValueRange {
  double least, most;
};

struct View;

// Numbers where a back end has put them: in the memory of a device.
class Copy {
 public:
  virtual ~Copy() = default;
  virtual void fetch(void* to, std::size_t bytes) const = 0;
  // Returns the rows 0, step, 2 step, ... of the view's points, column by column; nothing where fetching all points is
  // as good.
  virtual std::optional<std::vector<double>> some_rows(const View&, std::int64_t /*step*/) const { return {}; }
  // The largest squared distance of a row from the centre; NaN where one is not finite.
  virtual std::optional<double> reach(const View&, const std::vector<double>& /*centre*/) const { return {}; }
};

// Kept by whoever owns the data, for as long as they stay what they are.
struct Kept {
  std::map<int, std::unique_ptr<Copy>> copies;  // by the number of their device
  std::vector<double> middle;                   // of the points, once it has been looked for
  std::vector<double> centre;                   // the last one asked for, and how far the points reach from it
  double reach = 0;
  std::optional<ValueRange> range;  // that no number is outside of, once it is known; then all are finite
};

struct View {
  const double* data = nullptr;  // null also where the numbers lie on a device alone
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Kept* kept = nullptr;  // null where nobody keeps anything
  // The start of each column's entries, and the row of each entry, of a sparse matrix (base/sparse.hpp); else null.
  const int* starts = nullptr;
  const int* places = nullptr;
  // The count of numbers before this matrix, and of the numbers of all matrices, where several matrices lie one behind
  // the other and are kept together; 0 for a single matrix.
  std::int64_t before = 0, all = 0;
  // The distance from a column's first number to the next column's, of a window over a vector that its columns share:
  // negative where the next column lies before; 0 where columns lie one after the other.
  std::int64_t apart = 0;

  std::int64_t step() const { return apart != 0 ? apart : rows; }
  std::int64_t first() const { return apart < 0 ? (1 - columns) * apart : 0; }  // of the first column
  std::int64_t numbers() const {  // of what is kept
    if (apart != 0) return rows + (columns - 1) * (apart < 0 ? -apart : apart);
    return all > 0 ? all : rows * columns;
  }
  std::int64_t matrices() const { return all > 0 ? all / (rows * columns) : 1; }
  bool sparse() const { return starts != nullptr; }
};

}  // namespace kernweave
