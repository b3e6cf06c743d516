// The existing pairs as data: for blocks of points of one axis, spans of points of the other. No formula is known here.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/view.hpp"

namespace kernweave {

// Columns of a block of rows. In a partial one a formula says which pairs exist; in one that is not, all do.
struct PairSpan {
  Range columns;
  bool partial = false;
};

// Blocks of rows, one after the other, each with its spans: in order, without overlap.
class PairSpans {
 public:
  PairSpans(std::int64_t rows, std::int64_t columns) : rows(rows), columns(columns) {}

  // Rows up to `end`, from where the last block ended. Spans that touch become one, and so do blocks with the same.
  void add_block(std::int64_t end, const std::vector<PairSpan>& spans);
  // Rows that no block has are without pairs.
  void fill_up() { add_block(rows, {}); }

  std::int64_t blocks() const { return static_cast<std::int64_t>(row_ends_.size()); }
  Range rows_of(std::int64_t block) const;
  const PairSpan* begin(std::int64_t block) const { return spans_.data() + first_of(block); }
  const PairSpan* end(std::int64_t block) const { return spans_.data() + first_of(block + 1); }
  // Tells whether the pairs of each block are a rectangle, or none.
  bool rectangles() const;
  // In full spans, in partial ones.
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

// Rows and columns of which all pairs exist.
struct Rectangle {
  Range rows, columns;

  double pairs() const { return static_cast<double>(rows.size()) * static_cast<double>(columns.size()); }
};
// Rows of two rectangles are the same, or have none in common.
PairSpans spans_of(std::int64_t rows, std::int64_t columns, std::vector<Rectangle> rectangles);

// Made once for a restriction, and kept with it. Where points are not as they lie but ordered, point number k of an
// axis is `order[k]` of the data; an empty order is no order.
using Order = std::vector<std::int64_t>;
class PairMap {
 public:
  // `whole`: the pairs of which a formula says which exist; null where none does, or one that is not enough.
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
  mutable std::optional<PairSpans> along_j_;  // once it is asked for
  const Order order_i_, order_j_;
};

// The pairs of a call; without a map, all there are. `swapped`: are i and j those of the map the other way round?
struct ExistingPairs {
  std::shared_ptr<const PairMap> map{};
  bool swapped = false;

  const PairSpans& along(bool i) const { return map->along(i != swapped); }
  const Order& order(bool i) const { return map->order(i != swapped); }
};

}  // namespace kernweave
