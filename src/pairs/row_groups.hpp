// Blocks of rows, one after the other, with the columns that they share taken together: small blocks leave much of what
// computes them idle, and set out their columns for few rows.
#pragma once
#include <vector>
#include "pairs/pair_map.hpp"

namespace kernweave {

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

}  // namespace kernweave
