// Bounds a formula that tells pairs apart over whole rectangles, by the bounds of the data.
#pragma once
#include <vector>
#include "base/view.hpp"
#include "expr/interval.hpp"
#include "expr/node.hpp"
#include "pairs/pair_map.hpp"

namespace kernweave {

class PairBounds {
 public:
  // `allowed` is settled, and computed in float64, or in float32 as well. Data are those of operands by number; without
  // data, numbers may be any. Orders as in a map.
  PairBounds(Expr allowed, bool single, const std::vector<View>& data, std::int64_t rows, std::int64_t columns,
             const Order& order_i, const Order& order_j);

  enum class Existence { no, some, all };
  Existence over(const Range& rows, const Range& columns);

 private:
  // The bounds of a variable along an axis: of stretches of so many points, then of 2, 4, 8, ... stretches.
  struct Stretches {
    std::vector<std::vector<Interval>> levels;
    std::int64_t points = 0;
  };
  struct BoundStep {
    Expr node;
    std::vector<std::size_t> in;
    IntervalFn bounded;  // null where nothing is known of the operation
    Axis axis;
    Stretches known{};  // of variables along i or j
  };
  Interval value(const BoundStep& step, const Range& rows, const Range& columns) const;

  const bool single_;
  std::vector<BoundStep> steps_;
  std::vector<Interval> values_;  // of the steps, over the present rectangle
};

// Returns the columns of each span that the formula leaves: full, partial or no longer there.
PairSpans refined(const PairSpans& spans, PairBounds* bounds);

}  // namespace kernweave
