// Units of pairs, which are shared out. They depend on sizes, spans and tiles alone, so results have the same bits with
// any number of threads. The costs of rows, spans and tasks.
#pragma once
#include <cstdint>
#include <vector>
#include "pairs/pair_map.hpp"

namespace kernweave {

// The shape of a tile that a back end computes at a time: its rows and columns, and the steps of both.
struct UnitShape {
  std::int64_t rows, row_step, columns, column_step;
};

// The grain of the division of pairs: the most tasks, and the units of a task. May a unit have full and partial spans
// (`mixed`)? May rows fold their shared columns together, in another order (`grouped`)?
struct Dealing {
  std::int64_t tasks;
  double units_of_task;
  bool mixed, grouped = false;
};

// Some spans of some rows (a tile or fewer), and the rows `of` which they are a part. Units of the same rows `of` are
// contiguous.
struct Unit {
  Range rows, of;
  std::int64_t first, last;  // positions in the spans of all units
  bool begins, ends;         // is it the first, the last unit of the rows `of`?
};

class Units {
 public:
  // Divides restricted pairs into units of about equal work.
  Units(const PairSpans& spans, const UnitShape& shape, const Dealing& dealing);
  // Divides all pairs of rectangles that have no row in common: a task for each block of rows and split of columns.
  Units(const std::vector<Rectangle>& rectangles, std::int64_t block, std::int64_t split);

  std::int64_t size() const { return static_cast<std::int64_t>(units_.size()); }
  std::int64_t tasks() const { return tasks_; }
  // Tells whether some rows have several units.
  bool shared_rows() const { return shared_rows_; }
  // Returns the number of columns in all spans of a kind, partial or full.
  std::int64_t columns(bool partial) const { return columns_[partial]; }
  // Returns the units of a task. All tasks have the same work, up to a unit.
  Range of_task(std::int64_t task) const;
  // Return the units whose rows begin among these rows; all rows of some units; the tasks that have some of these
  // units; the tasks that begin with one of these units.
  Range of_rows(const Range& rows) const;
  Range rows_of(const Range& units) const;
  Range tasks_with(const Range& units) const;
  Range tasks_from(const Range& units) const;
  const Unit& operator[](std::int64_t unit) const { return units_[static_cast<std::size_t>(unit)]; }
  const PairSpan* begin(const Unit& unit) const { return spans_.data() + unit.first; }
  const PairSpan* end(const Unit& unit) const { return spans_.data() + unit.last; }

 private:
  void add_block(const Range& rows, const Range& columns, std::int64_t split);
  void add_piece(const Range& rows, const Range& of, const std::vector<PairSpan>& spans, double most);
  template <class Later>
  std::int64_t first_task(Later later) const;
  double work_of(const Range& rows, const PairSpan& span) const;
  double work_of(const Range& rows) const;

  const UnitShape shape_{};
  const bool mixed_ = false;
  bool shared_rows_ = false;
  std::vector<Unit> units_;
  std::vector<PairSpan> spans_;
  std::vector<std::int64_t> ends_;  // the work up to the end of each unit
  std::int64_t columns_[2] = {0, 0};
  std::int64_t tasks_ = 1;
};

// --- costs ---------------------------------------------------------------------------------------------------------
// The costs of rows, spans and tasks of pairs, with the origin of each number.

// Rows of a tile: each number packed for its columns serves that many pairs, so packing (about two
// instructions a number) stays under 2 % of the work of a pair. More rows leave fewer tasks to share out.
inline constexpr long long kTileRows = 128;
// Pairs below which a task is not cut further: about 50 microseconds of work, twice a thread's start.
inline constexpr double kPairsOfTask = 65536;

// Restricted pairs:

// The work of beginning a span of a block of rows, or of beginning the rows, in columns.
inline constexpr double kColumnsOfSpan = 24;
// The number of units of a task.
inline constexpr double kUnitsOfTask = 8;

}  // namespace kernweave
