// Divides pairs into tasks of even work: a task begins at its even share of all work.
#include "pairs/units.hpp"

#include <algorithm>

#include "kernweave/partition.hpp"

namespace kernweave {
namespace {

// The work of preparing a column, in rows.
constexpr double kRowsOfColumn = 8;
// The work of a pair for which a formula tells whether it exists, relative to another pair.
constexpr double kWorkOfPartial = 2;

double padded_to(std::int64_t n, std::int64_t multiple) {
  return static_cast<double>((n + multiple - 1) / multiple * multiple);
}

// --- groups of rows ------------------------------------------------------------------------------------------------
// Groups blocks of rows, one after the other, and computes their shared columns together: small blocks leave much of
// the hardware idle, and prepare their columns for few rows. Greedy: a block joins the blocks before it as long as that
// is less work; their other columns are grouped again.

// Some rows, the spans that are folded for them, and the rows `of` which they are a part: these are done when all their
// pieces, which are contiguous, are done.
struct RowPiece {
  Range rows, of;
  std::vector<PairSpan> spans;
};

// The costs of rows and spans, and the number of rows that may be done together.
struct RowCosts {
  std::int64_t most_rows, row_step;

  double work(std::int64_t rows, std::int64_t columns) const {
    if (columns == 0) return 0;
    return (padded_to(rows, row_step) + kRowsOfColumn) * (static_cast<double>(columns) + kColumnsOfSpan);
  }
};

using Spans = std::vector<PairSpan>;
struct GroupedRows {
  Range rows;
  Spans spans;
};

std::int64_t columns_of(const Spans& spans) {
  std::int64_t columns = 0;
  for (const PairSpan& span : spans) columns += span.columns.size();
  return columns;
}

Spans common_to(const Spans& a, const Spans& b) {
  Spans common;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    const Range both{std::max(x->columns.from, y->columns.from), std::min(x->columns.to, y->columns.to)};
    if (both.size() > 0) common.push_back({both});
    if (x->columns.to < y->columns.to) ++x;
    else ++y;
  }
  return common;
}

// Returns `all` without the columns of `some`.
Spans without(const Spans& all, const Spans& some) {
  Spans left;
  auto next = some.begin();
  for (const PairSpan& span : all) {
    std::int64_t from = span.columns.from;
    for (; next != some.end() && next->columns.from < span.columns.to; ++next) {
      if (from < next->columns.from) left.push_back({{from, next->columns.from}});
      from = next->columns.to;
    }
    if (from < span.columns.to) left.push_back({{from, span.columns.to}});
  }
  return left;
}

void add_tiles(const PairSpans& spans, std::int64_t block, std::int64_t most_rows, std::vector<RowPiece>* pieces) {
  const Range rows = spans.rows_of(block);
  for (std::int64_t row = rows.from; row < rows.to; row += most_rows) {
    const Range tile{row, std::min(row + most_rows, rows.to)};
    pieces->push_back({tile, tile, {spans.begin(block), spans.end(block)}});
  }
}

class RowGrouping {
 public:
  RowGrouping(const RowCosts& costs, std::vector<RowPiece>* pieces) : costs_(costs), pieces_(*pieces) {}

  // Makes the pieces of blocks that may be grouped; all belong to the rows `done`; null: to the rows of their group.
  void group(const std::vector<GroupedRows>& blocks, const Range* done) {
    for (std::size_t first = 0, end = 0; first < blocks.size(); first = end) {
      Spans common = blocks[first].spans;
      end = end_of_group(blocks, first, &common);
      const Range rows{blocks[first].rows.from, blocks[end - 1].rows.to}, of = done ? *done : rows;
      if (!common.empty() || !done) pieces_.push_back({rows, of, common});
      if (end == first + 1) continue;
      std::vector<GroupedRows> left;
      for (std::size_t b = first; b < end; ++b) left.push_back({blocks[b].rows, without(blocks[b].spans, common)});
      group(left, &of);
    }
  }

 private:
  double work(const Range& rows, std::int64_t columns) const { return costs_.work(rows.size(), columns); }

  std::size_t end_of_group(const std::vector<GroupedRows>& blocks, std::size_t first, Spans* common) const {
    double so_far = work(blocks[first].rows, columns_of(*common));
    std::size_t end = first + 1;
    for (; end < blocks.size(); ++end) {
      const Range rows{blocks[first].rows.from, blocks[end].rows.to};
      if (rows.size() > costs_.most_rows) break;
      Spans shared = common_to(*common, blocks[end].spans);
      const std::int64_t columns = columns_of(shared);
      double together = work(rows, columns);
      for (std::size_t b = first; b <= end; ++b)
        together += work(blocks[b].rows, columns_of(blocks[b].spans) - columns);
      const double apart = so_far + work(blocks[end].rows, columns_of(blocks[end].spans));
      if (columns == 0 || together >= apart) break;
      so_far = together;
      *common = std::move(shared);
    }
    return end;
  }

  const RowCosts& costs_;
  std::vector<RowPiece>& pieces_;
};

// Returns the tiles of the rows, in order. Every pair of the spans is in one piece, and every row is in a piece.
std::vector<RowPiece> tiles_of_rows(const PairSpans& spans, std::int64_t most_rows) {
  std::vector<RowPiece> pieces;
  for (std::int64_t b = 0; b < spans.blocks(); ++b) add_tiles(spans, b, most_rows, &pieces);
  return pieces;
}

// Groups rows that share columns. The columns of a row are then not in order any more. Blocks with partial spans, and
// blocks of many rows, are not grouped.
std::vector<RowPiece> grouped_rows(const PairSpans& spans, const RowCosts& costs) {
  std::vector<RowPiece> pieces;
  RowGrouping grouping(costs, &pieces);
  std::vector<GroupedRows> some;
  const auto group = [&] {
    grouping.group(some, nullptr);
    some.clear();
  };
  for (std::int64_t b = 0; b < spans.blocks(); ++b) {
    const bool alone = std::any_of(spans.begin(b), spans.end(b), [](const PairSpan& span) { return span.partial; });
    if (!alone && spans.rows_of(b).size() < costs.most_rows) {
      some.push_back({spans.rows_of(b), {spans.begin(b), spans.end(b)}});
    } else {
      group();
      add_tiles(spans, b, costs.most_rows, &pieces);
    }
  }
  group();
  return pieces;
}

}  // namespace

// --- units ---------------------------------------------------------------------------------------------------------

// Return the work in units of a pair: of the pairs that are computed, and of rows and spans.
double Units::work_of(const Range& rows, const PairSpan& span) const {
  const double wide = padded_to(span.columns.size(), shape_.column_step) + kColumnsOfSpan;
  return padded_to(rows.size(), shape_.row_step) * wide * (span.partial ? kWorkOfPartial : 1.0);
}
double Units::work_of(const Range& rows) const { return padded_to(rows.size(), shape_.row_step) * kColumnsOfSpan; }

Units::Units(const PairSpans& spans, const UnitShape& shape, const Dealing& dealing)
    : shape_(shape), mixed_(dealing.mixed) {
  const std::vector<RowPiece> pieces =
      dealing.grouped ? grouped_rows(spans, {shape.rows, shape.row_step}) : tiles_of_rows(spans, shape.rows);
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
  for (const RowPiece& piece : pieces) add_piece(piece.rows, piece.of, piece.spans, most);
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
void Units::add_piece(const Range& rows, const Range& of, const std::vector<PairSpan>& spans, double most) {
  const double so_far = ends_.empty() ? 0 : static_cast<double>(ends_.back());
  double work = work_of(rows), before = 0;
  std::int64_t from = static_cast<std::int64_t>(spans_.size());
  const auto end_unit = [&] {
    const auto to = static_cast<std::int64_t>(spans_.size());
    units_.push_back({rows, of, from, to, false, false});
    ends_.push_back(static_cast<std::int64_t>(so_far + before + work));
    before += work;
    work = 0;
    from = to;
  };
  for (const PairSpan& span : spans) {
    PairSpan left = span;
    const double each = work_of(rows, {{0, shape_.columns}, span.partial});
    const std::int64_t step = std::max<std::int64_t>(static_cast<std::int64_t>(most / each), 1) * shape_.columns;
    while (left.columns.size() > 0) {
      const PairSpan part{{left.columns.from, std::min(left.columns.from + step, left.columns.to)}, left.partial};
      const double more = work_of(rows, part);
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

// Returns the first task for which later() is true; it is true for all tasks after it.
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
