// How pairs are dealt out: a list of units, by sizes, spans and tiles alone, so that no number of threads changes a
// bit.
#pragma once
#include <cstdint>
#include <vector>
#include "pairs/pair_map.hpp"

namespace kernweave {

// --- row_groups.cpp ------------------------------------------------------------------------------------------------
// Blocks of rows, one after the other, with the columns that they share taken together: small blocks leave much of what
// computes them idle, and set out their columns for few rows.

// Some rows, the spans that are folded for them, and the rows that are done when all pieces of these, which follow each
// other, are.
struct RowPiece {
  Range rows, of;
  std::vector<PairSpan> spans;
};

// How much rows and spans cost, and how many rows may be done together.
struct RowCosts {
  std::int64_t most_rows, row_step;
  double columns_of_piece, rows_of_column;  // that take as long as it takes to begin a piece, to set out a column

  double work(std::int64_t rows, std::int64_t columns) const;
};

// Every pair of the spans is in one piece, and every row in some. By themselves, in order:
std::vector<RowPiece> tiles_of_rows(const PairSpans& spans, std::int64_t most_rows);
// Groups rows that share columns. The columns of a row are then not in order any more.
std::vector<RowPiece> grouped_rows(const PairSpans& spans, const RowCosts& costs);

// The shape of a tile that a back end computes at a time: its rows and columns, and the steps of both.
struct UnitShape {
  std::int64_t rows, row_step, columns, column_step;
};

// How finely pairs are dealt out: into at most so many tasks, of so many units each; may a unit have spans of both
// kinds; may rows fold the columns that they share together, in another order (below)?
struct Dealing {
  std::int64_t tasks;
  double units_of_task;
  bool mixed, grouped = false;
};

// Some spans of some rows, of a tile or fewer, and the rows among which these are done. Units of the same such rows
// follow each other.
struct Unit {
  Range rows, of;
  std::int64_t first, last;  // of all spans of the units
  bool begins, ends;         // is it the first, the last of those?
};

class Units {
 public:
  // Restricted pairs: units of about as much work each.
  Units(const PairSpans& spans, const UnitShape& shape, const Dealing& dealing);
  // All pairs of rectangles that have no row in common: a task for each block of rows and split of columns.
  Units(const std::vector<Rectangle>& rectangles, std::int64_t block, std::int64_t split);

  std::int64_t size() const { return static_cast<std::int64_t>(units_.size()); }
  std::int64_t tasks() const { return tasks_; }
  // Tells whether rows of several units exist.
  bool shared_rows() const { return shared_rows_; }
  // Returns the number of columns in all spans of a kind, partial or full.
  std::int64_t columns(bool partial) const { return columns_[partial]; }
  // Returns the units of a task. All tasks have the same work, up to a unit.
  Range of_task(std::int64_t task) const;
  // Units of the rows that begin among these, and all rows of some units; tasks that have some of these units, and
  // those that begin with one of them.
  Range of_rows(const Range& rows) const;
  Range rows_of(const Range& units) const;
  Range tasks_with(const Range& units) const;
  Range tasks_from(const Range& units) const;
  const Unit& operator[](std::int64_t unit) const { return units_[static_cast<std::size_t>(unit)]; }
  const PairSpan* begin(const Unit& unit) const { return spans_.data() + unit.first; }
  const PairSpan* end(const Unit& unit) const { return spans_.data() + unit.last; }

 private:
  void add_block(const Range& rows, const Range& columns, std::int64_t split);
  void add_piece(const RowPiece& piece, double most);
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

}  // namespace kernweave
