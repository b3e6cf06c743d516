// The load-balancing walk: tasks begin where their even share of all work does.
#include "pairs/units.hpp"

#include <algorithm>

#include "kernweave/partition.hpp"
#include "pairs/limits.hpp"

namespace kernweave {
namespace {

double padded_to(std::int64_t n, std::int64_t multiple) {
  return static_cast<double>((n + multiple - 1) / multiple * multiple);
}

}  // namespace

// In pairs: those that are computed, and what rows and spans take besides.
double Units::work_of(const Range& rows, const PairSpan& span) const {
  const double wide = padded_to(span.columns.size(), shape_.column_step) + kColumnsOfSpan;
  return padded_to(rows.size(), shape_.row_step) * wide * (span.partial ? kWorkOfPartial : 1.0);
}
double Units::work_of(const Range& rows) const { return padded_to(rows.size(), shape_.row_step) * kColumnsOfSpan; }

Units::Units(const PairSpans& spans, const UnitShape& shape, const Dealing& dealing)
    : shape_(shape), mixed_(dealing.mixed) {
  const RowCosts costs{shape.rows, shape.row_step, kColumnsOfSpan, kRowsOfColumn};
  const std::vector<RowPiece> pieces =
      dealing.grouped ? grouped_rows(spans, costs) : tiles_of_rows(spans, shape.rows);
  double all = 0;
  for (const RowPiece& piece : pieces) {
    all += work_of(piece.rows);
    for (const PairSpan& span : piece.spans) {
      all += work_of(piece.rows, span);
      columns_[span.partial] += span.columns.size();
    }
  }
  const auto by_work = static_cast<std::int64_t>(all / kPairsOfTask);
  tasks_ = std::max<std::int64_t>(std::min(dealing.tasks, by_work), 1);
  const double most = all / static_cast<double>(tasks_) / dealing.units_of_task;
  for (const RowPiece& piece : pieces) add_piece(piece, most);
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const auto same = [&](std::size_t v) { return v < units_.size() && units_[v].of.from == units_[u].of.from; };
    units_[u].begins = u == 0 || !same(u - 1);
    units_[u].ends = !same(u + 1);
    shared_rows_ = shared_rows_ || !units_[u].begins;
  }
}

Units::Units(const std::vector<Rectangle>& rectangles, std::int64_t block, std::int64_t split) {
  for (const Rectangle& r : rectangles)
    for (std::int64_t row = r.rows.from; row < r.rows.to; row += block)
      add_block({row, std::min(row + block, r.rows.to)}, r.columns, split);
  tasks_ = static_cast<std::int64_t>(units_.size());
}

void Units::add_block(const Range& rows, const Range& columns, std::int64_t split) {
  std::int64_t column = columns.from;
  do {
    const auto first = static_cast<std::int64_t>(spans_.size());
    const std::int64_t end = std::min(column + split, columns.to);
    if (column < end) spans_.push_back({{column, end}});
    const auto last = static_cast<std::int64_t>(spans_.size());
    units_.push_back({rows, rows, first, last, column == columns.from, end == columns.to});
    ends_.push_back(static_cast<std::int64_t>(units_.size()));
    column = end;
  } while (column < columns.to);
  columns_[false] += columns.size();
  shared_rows_ = shared_rows_ || columns.size() > split;
}

// Adds a piece of rows. A piece of more work than `most` becomes several units, which end within long spans.
void Units::add_piece(const RowPiece& piece, double most) {
  const double so_far = ends_.empty() ? 0 : static_cast<double>(ends_.back());
  double work = work_of(piece.rows), before = 0;
  std::int64_t from = static_cast<std::int64_t>(spans_.size());
  const auto end_unit = [&] {
    const auto to = static_cast<std::int64_t>(spans_.size());
    units_.push_back({piece.rows, piece.of, from, to, false, false});
    ends_.push_back(static_cast<std::int64_t>(so_far + before + work));
    before += work;
    work = 0;
    from = to;
  };
  for (const PairSpan& span : piece.spans) {
    PairSpan left = span;
    const double each = work_of(piece.rows, {{0, shape_.columns}, span.partial});
    const std::int64_t step = std::max<std::int64_t>(static_cast<std::int64_t>(most / each), 1) * shape_.columns;
    while (left.columns.size() > 0) {
      const PairSpan part{{left.columns.from, std::min(left.columns.from + step, left.columns.to)}, left.partial};
      const double more = work_of(piece.rows, part);
      const bool any = static_cast<std::int64_t>(spans_.size()) > from;
      const bool other = any && !mixed_ && spans_.back().partial != part.partial;
      if (other || (any && work + more > 1.5 * most)) end_unit();
      spans_.push_back(part);
      work += more;
      left.columns.from = part.columns.to;
    }
  }
  end_unit();
}

Range Units::of_task(std::int64_t task) const {
  const auto units = static_cast<Index>(units_.size());
  const auto begin = [&](std::int64_t k) -> std::int64_t {
    if (k == tasks_) return units;
    return partition::lower_bound(ends_, 0, units, partition::even_split(ends_.back(), tasks_, k) + 1);
  };
  return units == 0 ? Range{} : Range{task == 0 ? 0 : begin(task), begin(task + 1)};
}

Range Units::of_rows(const Range& rows) const {
  const auto first = [&](std::int64_t row) {
    const auto before = [](const Unit& unit, std::int64_t r) { return unit.of.from < r; };
    return std::lower_bound(units_.begin(), units_.end(), row, before) - units_.begin();
  };
  const std::int64_t from = first(rows.from);
  return {from, std::max<std::int64_t>(from, first(rows.to))};
}

Range Units::rows_of(const Range& units) const {
  if (units.size() == 0) return {};
  return {units_[static_cast<std::size_t>(units.from)].of.from, units_[static_cast<std::size_t>(units.to - 1)].of.to};
}

// The first task from which on it is true.
template <class Later>
std::int64_t Units::first_task(Later later) const {
  std::int64_t from = 0, to = tasks_;
  while (from < to) {
    const std::int64_t middle = (from + to) / 2;
    if (later(of_task(middle))) to = middle;
    else from = middle + 1;
  }
  return from;
}

Range Units::tasks_with(const Range& units) const {
  const std::int64_t from = first_task([&](const Range& mine) { return mine.to > units.from; });
  return {from, std::max(from, first_task([&](const Range& mine) { return mine.from >= units.to; }))};
}

Range Units::tasks_from(const Range& units) const {
  return {first_task([&](const Range& mine) { return mine.from >= units.from; }),
          first_task([&](const Range& mine) { return mine.from >= units.to; })};
}

}  // namespace kernweave
