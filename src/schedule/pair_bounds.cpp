// Interval arithmetic. Where an operation has no rule here its value may be anything, and the pairs are looked at.
#include "schedule/pair_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "schedule/cost.hpp"

namespace kernweave {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr Interval kAnything{-kInf, kInf, true};

bool is_single(const Interval& x) { return x.least == x.most && !x.nan; }

Interval joined(const Interval& x, const Interval& y) {
  return {std::min(x.least, y.least), std::max(x.most, y.most), x.nan || y.nan};
}

// Of numbers that are computed: what overflows may be NaN next.
Interval bounded(double least, double most, bool nan) {
  if (std::isfinite(least) && std::isfinite(most)) return {least, most, nan};
  return kAnything;
}

Interval of_corners(const Interval& x, const Interval& y, double (*f)(double, double)) {
  const double corners[] = {f(x.least, y.least), f(x.least, y.most), f(x.most, y.least), f(x.most, y.most)};
  for (const double corner : corners)
    if (std::isnan(corner)) return kAnything;
  return bounded(*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4), x.nan || y.nan);
}

Interval of_ends(const Interval& x, double (*f)(double)) {
  const double least = f(x.least), most = f(x.most);
  return std::isnan(least) || std::isnan(most) ? kAnything : bounded(least, most, x.nan);
}

// A comparison with NaN is false.
Interval truth(bool always, bool never, bool nan) {
  if (never) return {0, 0};
  return {always && !nan ? 1.0 : 0.0, 1, false};
}

Interval absolute(const Interval& x) {
  if (x.least >= 0) return x;
  if (x.most <= 0) return {-x.most, -x.least, x.nan};
  return {0, std::max(-x.least, x.most), x.nan};
}

Interval remainder(const Interval& x, const Interval& y) {
  if (!is_single(y) || !(y.least > 0) || !std::isfinite(x.least) || !std::isfinite(x.most)) return kAnything;
  const double n = y.least, turns = std::floor(x.least / n);
  if (turns == std::floor(x.most / n)) return {x.least - turns * n, x.most - turns * n, x.nan};
  return {0, n, x.nan};
}

Interval applied(Op op, const Interval& x, const Interval& y, const Interval& z) {
  const bool nan = x.nan || y.nan;
  switch (op) {
    case Op::Add: return bounded(x.least + y.least, x.most + y.most, nan);
    case Op::Subtract: return bounded(x.least - y.most, x.most - y.least, nan);
    case Op::Minus: return {-x.most, -x.least, x.nan};
    case Op::Mult: return of_corners(x, y, [](double a, double b) { return a * b; });
    case Op::Divide:
      if (y.least <= 0 && y.most >= 0) return kAnything;
      return of_corners(x, y, [](double a, double b) { return a / b; });
    case Op::IntDiv:
      if (y.least <= 0 && y.most >= 0) return kAnything;
      return of_corners(x, y, [](double a, double b) { return std::floor(a / b); });
    case Op::Mod: return remainder(x, y);
    case Op::Square: {
      const Interval a = absolute(x);
      return bounded(a.least * a.least, a.most * a.most, x.nan);
    }
    case Op::Abs: return absolute(x);
    case Op::Floor: return of_ends(x, std::floor);
    case Op::Ceil: return of_ends(x, std::ceil);
    case Op::Trunc: return of_ends(x, std::trunc);
    case Op::Exp: return of_ends(x, std::exp);
    case Op::Sqrt: return x.least < 0 ? kAnything : of_ends(x, std::sqrt);
    case Op::Max2: return {std::max(x.least, y.least), std::max(x.most, y.most), nan};
    case Op::Min2: return {std::min(x.least, y.least), std::min(x.most, y.most), nan};
    case Op::LessThan: return truth(x.most < y.least, x.least >= y.most, nan);
    case Op::LessOrEqual: return truth(x.most <= y.least, x.least > y.most, nan);
    case Op::Equal:
      return truth(is_single(x) && is_single(y) && x.least == y.least, x.most < y.least || y.most < x.least, nan);
    case Op::NotEqual:
      return truth(x.most < y.least || y.most < x.least, is_single(x) && is_single(y) && x.least == y.least, nan);
    case Op::Select:
      if (x.least == 0 && x.most == 0) return z;
      return x.least > 0 || x.most < 0 ? y : joined(y, z);
    default: return kAnything;
  }
}

// The least stretch whose bounds are known. Its square of pairs is looked at where it is mixed.
constexpr std::int64_t kStretch = 32;

Interval of_numbers(const double* data, const Order& order, const Range& points) {
  Interval all{kInf, -kInf};
  for (std::int64_t p = points.from; p < points.to; ++p) {
    const std::int64_t at = order.empty() ? p : order[static_cast<std::size_t>(p)];
    const double number = data ? data[at] : static_cast<double>(at + 1);
    if (std::isnan(number)) all.nan = true;
    else all = joined(all, {number, number, false});
  }
  return all;
}

std::vector<std::vector<Interval>> levels_of(const double* data, const Order& order, std::int64_t points) {
  std::vector<std::vector<Interval>> levels(1);
  for (std::int64_t p = 0; p < points; p += kStretch)
    levels[0].push_back(of_numbers(data, order, {p, std::min(p + kStretch, points)}));
  for (std::size_t wide = 2; wide <= levels[0].size(); wide *= 2) {
    const std::vector<Interval>& half = levels.back();
    std::vector<Interval> next;
    for (std::size_t k = 0; k + wide <= levels[0].size(); ++k) next.push_back(joined(half[k], half[k + wide / 2]));
    levels.push_back(std::move(next));
  }
  return levels;
}

}  // namespace

PairBounds::PairBounds(Expr allowed, const std::vector<View>& data, std::int64_t rows, std::int64_t columns,
                       const Order& order_i, const Order& order_j) {
  std::unordered_map<const Node*, std::size_t> places;
  for (Expr f : reachable({allowed})) {
    Step step{f, {}, Axis::pair};
    for (const Node* arg : f->args) step.in.push_back(places.at(arg));
    if (f->op == Op::Var && width(f) == 1) {
      const Variable& v = variable(f);
      const View* const view = v.operand >= 0 ? &data[static_cast<std::size_t>(v.operand)] : nullptr;
      const bool counts = v.source == Source::counter, along_i = v.axis == Axis::i;
      step.axis = v.axis;
      const std::int64_t points = along_i ? rows : columns;
      if ((along_i || v.axis == Axis::j) && (counts || (view->data && view->rows == points))) {
        step.known = {levels_of(counts ? nullptr : view->data, along_i ? order_i : order_j, points), points};
      } else if (v.axis == Axis::param && view && view->data) {
        step.known = {{{of_numbers(view->data, {}, {0, 1})}}, 1};
      }
    }
    places[f.get()] = steps_.size();
    steps_.push_back(std::move(step));
  }
  values_.resize(steps_.size());
}

Interval PairBounds::value(const Step& step, const Range& rows, const Range& columns) const {
  const Op op = step.node->op;
  if (op == Op::Number) return {step.node->number, step.node->number};
  if (op == Op::Var) {
    if (step.known.points == 0) return kAnything;
    if (step.axis == Axis::param) return step.known.levels[0][0];
    const Range& points = step.axis == Axis::i ? rows : columns;
    const auto first = static_cast<std::size_t>(points.from / kStretch),
               last = static_cast<std::size_t>((points.to - 1) / kStretch);
    std::size_t level = 0;
    while ((std::size_t{2} << level) <= last - first + 1) ++level;
    const std::vector<Interval>& known = step.known.levels[level];
    return joined(known[first], known[last + 1 - (std::size_t{1} << level)]);
  }
  // A row number that is looked up is the number of the row that it is looked up at.
  if (op == Op::Gather && step.node.arg(0)->op == Op::Var && variable(step.node.arg(0)).source == Source::counter)
    return values_[step.in[1]];
  if (width(step.node) != 1) return kAnything;
  const auto in = [&](std::size_t k) { return k < step.in.size() ? values_[step.in[k]] : kAnything; };
  return applied(op, in(0), in(1), in(2));
}

PairBounds::Answer PairBounds::over(const Range& rows, const Range& columns) {
  for (std::size_t s = 0; s < steps_.size(); ++s) values_[s] = value(steps_[s], rows, columns);
  const Interval& found = values_.back();
  if (found.least == 0 && found.most == 0) return Answer::no;
  return found.least > 0 && !found.nan ? Answer::all : Answer::some;
}

namespace {

void refine(const Range& rows, const PairSpan& span, PairBounds* bounds, std::vector<PairSpan>* found) {
  const PairBounds::Answer answer = bounds->over(rows, span.columns);
  if (answer == PairBounds::Answer::no) return;
  const bool settled = span.columns.size() <= kStretch || (answer == PairBounds::Answer::all && span.partial);
  if (answer == PairBounds::Answer::all || settled) {
    found->push_back({span.columns, span.partial || answer == PairBounds::Answer::some});
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
