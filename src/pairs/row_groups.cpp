// Greedy: a block joins those before it as long as that is less work; what is left of their columns is grouped again.
#include "pairs/units.hpp"

#include <algorithm>

namespace kernweave {
namespace {

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

  // The pieces of blocks that may be grouped; all of them end the same rows, or each group its own.
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

}  // namespace

double RowCosts::work(std::int64_t rows, std::int64_t columns) const {
  if (columns == 0) return 0;
  const std::int64_t padded = (rows + row_step - 1) / row_step * row_step;
  return (static_cast<double>(padded) + rows_of_column) * (static_cast<double>(columns) + columns_of_piece);
}

std::vector<RowPiece> tiles_of_rows(const PairSpans& spans, std::int64_t most_rows) {
  std::vector<RowPiece> pieces;
  for (std::int64_t b = 0; b < spans.blocks(); ++b) add_tiles(spans, b, most_rows, &pieces);
  return pieces;
}

// Blocks with partial spans, and those of many rows, stay by themselves.
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

}  // namespace kernweave
