// The existing pairs as data: for blocks of points of one axis, spans of points of the other. Knows no formula.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/view.hpp"

namespace kernweave {

// Columns of a block of rows. In a partial span, a formula tells which pairs exist; in a full span, all pairs exist.
struct PairSpan {
  Range columns;
  bool partial = false;
};

// Contiguous blocks of rows, each with its spans: in order, without overlap.
class PairSpans {
 public:
  PairSpans(std::int64_t rows, std::int64_t columns) : rows(rows), columns(columns) {}

  // Adds rows from the end of the last block to `end`. Joins spans that touch, and blocks with the same spans.
  void add_block(std::int64_t end, const std::vector<PairSpan>& spans);
  // Adds the rows that are in no block, without pairs.
  void fill_up() { add_block(rows, {}); }

  std::int64_t blocks() const { return static_cast<std::int64_t>(row_ends_.size()); }
  Range rows_of(std::int64_t block) const;
  const PairSpan* begin(std::int64_t block) const { return spans_.data() + first_of(block); }
  const PairSpan* end(std::int64_t block) const { return spans_.data() + first_of(block + 1); }
  // Tells whether the pairs of each block are a full rectangle, or none.
  bool rectangles() const;
  // Return the numbers of pairs in full spans, and in partial spans.
  double full_pairs() const { return pairs_in(false); }
  double partial_pairs() const { return pairs_in(true); }

  const std::int64_t rows, columns;

 private:
  std::int64_t first_of(std::int64_t block) const {
    return block == 0 ? 0 : span_ends_[static_cast<std::size_t>(block - 1)];
  }
  double pairs_in(bool partial) const;

  std::vector<std::int64_t> row_ends_, span_ends_;
  std::vector<PairSpan> spans_;
};

// Returns the same pairs, block by block of the columns.
PairSpans transposed(const PairSpans& spans);

// Rows and columns whose pairs all exist.
struct Rectangle {
  Range rows, columns;

  double pairs() const { return static_cast<double>(rows.size()) * static_cast<double>(columns.size()); }
};
// Makes spans of rectangles. The rows of two rectangles are the same or disjoint.
PairSpans spans_of(std::int64_t rows, std::int64_t columns, std::vector<Rectangle> rectangles);

// The map of a restriction, made once and kept with it. If points are ordered, point number k of an axis is point
// `order[k]` of the data; an empty order leaves the points as they are.
using Order = std::vector<std::int64_t>;
class PairMap {
 public:
  // `whole`: pairs whose existence the formula alone tells; null if there is no formula, or it is not enough.
  PairMap(PairSpans along_i, Order order_i, Order order_j, std::shared_ptr<const PairMap> whole)
      : whole(std::move(whole)),
        along_i_(std::move(along_i)),
        order_i_(std::move(order_i)),
        order_j_(std::move(order_j)) {}

  const PairSpans& along(bool i) const;
  const Order& order(bool i) const { return i ? order_i_ : order_j_; }
  // Tells whether the pairs of each row, and of each column, are a rectangle.
  bool rectangles() const { return along(true).rectangles() && along(false).rectangles(); }

  const std::shared_ptr<const PairMap> whole;

 private:
  const PairSpans along_i_;
  mutable std::optional<PairSpans> along_j_;  // made when it is first asked for
  const Order order_i_, order_j_;
};

// The pairs of a call; without a map, all pairs. `swapped`: are i and j of the call j and i of the map?
struct ExistingPairs {
  std::shared_ptr<const PairMap> map{};
  bool swapped = false;

  const PairSpans& along(bool i) const { return map->along(i != swapped); }
  const Order& order(bool i) const { return map->order(i != swapped); }
};

}  // namespace kernweave
