// Bounds a formula that tells which pairs exist, over whole rectangles, by the bounds of the data.
#pragma once
#include <vector>
#include "base/view.hpp"
#include "expr/interval.hpp"
#include "expr/node.hpp"
#include "pairs/pair_map.hpp"

namespace kernweave {

class PairBounds {
 public:
  // `allowed` is normalised, and computed in float64 or, if `single`, in float32 as well. `data` are by operand number;
  // an operand without data may have any numbers. Orders are as in a map.
  PairBounds(Expr allowed, bool single, const std::vector<View>& data, std::int64_t rows, std::int64_t columns,
             const Order& order_i, const Order& order_j);

  enum class Existence { no, some, all };
  Existence over(const Range& rows, const Range& columns);

 private:
  // The bounds of a variable along an axis: of each stretch of points, then of 2, 4, 8, ... adjacent stretches.
  struct Stretches {
    std::vector<std::vector<Interval>> levels;
    std::int64_t points = 0;
  };
  struct BoundStep {
    Expr node;
    std::vector<std::size_t> in;
    IntervalFn bounded;  // null if nothing is known about the operation
    Axis axis;
    Stretches known{};  // for variables along i or j, and parameters
  };
  Interval value(const BoundStep& step, const Range& rows, const Range& columns) const;

  const bool single_;
  std::vector<BoundStep> steps_;
  std::vector<Interval> values_;  // values of the steps, over the present rectangle
};

// Returns the spans without columns that the formula excludes: the spans that remain are full or partial.
PairSpans refined(const PairSpans& spans, PairBounds* bounds);

}  // namespace kernweave
