// Computes operations on intervals. An operation that is not element-wise has no bounds, so its pairs are computed.
#include "pairs/pair_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "expr/table.hpp"
#include "pairs/units.hpp"

namespace kernweave {
namespace {

// The points of the shortest stretch with known bounds. Spans of this length are not cut further if they are mixed.
constexpr std::int64_t kStretch = 32;

// The bounds of data or of row numbers, with the rounding of the numbers with which pairs are computed.
class DataBounds {
 public:
  DataBounds(const double* data, std::int64_t count, bool single)
      : data_(data), off_(single ? kOffSingle : kOffDouble) {
    double largest = 0;
    bool halves = true;
    for (std::int64_t at = 0; data && at < count; ++at) {
      if (!std::isfinite(data[at])) continue;
      largest = std::max(largest, std::fabs(data[at]));
      halves = halves && 2 * data[at] == std::floor(2 * data[at]);
      whole_ = whole_ && data[at] == std::floor(data[at]);
    }
    // Multiples of 1/2 are exact, even less a centre.
    const int digits = single ? 22 : 51;
    if (!halves || largest >= std::ldexp(1, digits)) rounding_ = std::ldexp(largest, -digits);
    whole_ = whole_ && rounding_ == 0;
  }
  Interval over(const Order& order, const Range& points) const {
    double least = HUGE_VAL, most = -HUGE_VAL;
    bool nan = false;
    for (std::int64_t p = points.from; p < points.to; ++p) {
      const std::int64_t at = order.empty() ? p : order[static_cast<std::size_t>(p)];
      const double number = data_ ? data_[at] : static_cast<double>(at + 1);
      nan = nan || std::isnan(number);
      least = std::min(least, number);
      most = std::max(most, number);
    }
    Interval all(least - rounding_, most + rounding_);
    all.nan = all.nan || nan;
    all.whole = whole_;
    all.off = off_;
    return all;
  }

 private:
  const double* const data_;
  const double off_;
  double rounding_ = 0;
  bool whole_ = true;
};

std::vector<std::vector<Interval>> levels_of(const DataBounds& numbers, const Order& order, std::int64_t points) {
  std::vector<std::vector<Interval>> levels(1);
  for (std::int64_t p = 0; p < points; p += kStretch)
    levels[0].push_back(numbers.over(order, {p, std::min(p + kStretch, points)}));
  for (std::size_t wide = 2; wide <= levels[0].size(); wide *= 2) {
    const std::vector<Interval>& half = levels.back();
    std::vector<Interval> next;
    for (std::size_t k = 0; k + wide <= levels[0].size(); ++k) next.push_back(joined(half[k], half[k + wide / 2]));
    levels.push_back(std::move(next));
  }
  return levels;
}

}  // namespace

PairBounds::PairBounds(Expr allowed, bool single, const std::vector<View>& data, std::int64_t rows,
                       std::int64_t columns, const Order& order_i, const Order& order_j)
    : single_(single) {
  std::unordered_map<const Node*, std::size_t> places;
  for (Expr f : reachable({allowed})) {
    BoundStep step{f, {}, row(f->op).form == Form::elementwise ? bounded(f->op) : nullptr, Axis::pair};
    for (const Node* arg : f->args) step.in.push_back(places.at(arg));
    if (f->op == Op::Var && width(f) == 1) {
      const Variable& v = variable(f);
      const View* const view = v.operand >= 0 ? &data[static_cast<std::size_t>(v.operand)] : nullptr;
      const bool counts = v.source == Source::counter, along_i = v.axis == Axis::i;
      step.axis = v.axis;
      const std::int64_t points = along_i ? rows : columns;
      if ((along_i || v.axis == Axis::j) && (counts || (view->data && view->rows == points))) {
        const DataBounds numbers(counts ? nullptr : view->data, points, single);
        step.known = {levels_of(numbers, along_i ? order_i : order_j, points), points};
      } else if (v.axis == Axis::param && view && view->data) {
        step.known = {{{DataBounds(view->data, 1, single).over({}, {0, 1})}}, 1};
      }
    }
    places[f.get()] = steps_.size();
    steps_.push_back(std::move(step));
  }
  values_.resize(steps_.size());
}

Interval PairBounds::value(const BoundStep& step, const Range& rows, const Range& columns) const {
  const Op op = step.node->op;
  if (op == Op::Number) return DataBounds(&step.node->number, 1, single_).over({}, {0, 1});
  if (op == Op::Var) {
    if (step.known.points == 0) return Interval::anything();
    if (step.axis == Axis::param) return step.known.levels[0][0];
    const Range& points = step.axis == Axis::i ? rows : columns;
    const auto first = static_cast<std::size_t>(points.from / kStretch),
               last = static_cast<std::size_t>((points.to - 1) / kStretch);
    std::size_t level = 0;
    while ((std::size_t{2} << level) <= last - first + 1) ++level;
    const std::vector<Interval>& known = step.known.levels[level];
    return joined(known[first], known[last + 1 - (std::size_t{1} << level)]);
  }
  // The row number that is looked up at row r is r.
  if (op == Op::Gather && step.node.arg(0)->op == Op::Var && variable(step.node.arg(0)).source == Source::counter)
    return values_[step.in[1]];
  if (width(step.node) != 1 || !step.bounded) return Interval::anything();
  Interval in[3];
  for (std::size_t k = 0; k < step.in.size(); ++k) in[k] = values_[step.in[k]];
  return step.bounded(in);
}

PairBounds::Existence PairBounds::over(const Range& rows, const Range& columns) {
  // If a value is too large, it may become infinite, or NaN in the next step.
  const double largest = single_ ? 1e37 : 1e307;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const Interval found = value(steps_[s], rows, columns);
    values_[s] = found.least >= -largest && found.most <= largest ? found : Interval::anything();
  }
  const Interval& found = values_.back();
  if (found.is_number(0)) return Existence::no;
  return found.least > 0 && !found.nan ? Existence::all : Existence::some;
}

namespace {

void refine(const Range& rows, const PairSpan& span, PairBounds* bounds, std::vector<PairSpan>* found) {
  const PairBounds::Existence answer = bounds->over(rows, span.columns);
  if (answer == PairBounds::Existence::no) return;
  const bool settled = span.columns.size() <= kStretch || (answer == PairBounds::Existence::all && span.partial);
  if (answer == PairBounds::Existence::all || settled) {
    found->push_back({span.columns, span.partial || answer == PairBounds::Existence::some});
    return;
  }
  const std::int64_t middle = (span.columns.from + span.columns.size() / 2 + kStretch - 1) / kStretch * kStretch;
  const std::int64_t cut = middle < span.columns.to ? middle : middle - kStretch;
  refine(rows, {{span.columns.from, cut}, span.partial}, bounds, found);
  refine(rows, {{cut, span.columns.to}, span.partial}, bounds, found);
}

}  // namespace

PairSpans refined(const PairSpans& spans, PairBounds* bounds) {
  PairSpans out(spans.rows, spans.columns);
  for (std::int64_t b = 0; b < spans.blocks(); ++b) {
    const Range block = spans.rows_of(b);
    for (std::int64_t row = block.from; row < block.to;) {
      const std::int64_t end = std::min<std::int64_t>((row / kTileRows + 1) * kTileRows, block.to);
      std::vector<PairSpan> found;
      for (const PairSpan* span = spans.begin(b); span != spans.end(b); ++span)
        refine({row, end}, *span, bounds, &found);
      out.add_block(end, found);
      row = end;
    }
  }
  return out;
}

}  // namespace kernweave
