// Conversion of R's rectangles, pattern and formula to a pair map; each restricts the pairs further.
#include "r_pairs.hpp"

#include <algorithm>

#include "border.hpp"
#include "expr/rewrite.hpp"
#include "pairs/pair_bounds.hpp"
#include "r_data.hpp"
#include "r_far.hpp"
#include "r_formula.hpp"

namespace kernweave {
namespace {

using SharedMap = std::shared_ptr<const PairMap>;

SEXP map_tag() { return Rf_install("kernweave_pairs"); }

const SharedMap& map_behind(SEXP pointer) {
  const bool ours = TYPEOF(pointer) == EXTPTRSXP && R_ExternalPtrTag(pointer) == map_tag();
  internal_check(ours && R_ExternalPtrAddr(pointer) != nullptr, "this is no map of pairs of this session");
  return *static_cast<SharedMap*>(R_ExternalPtrAddr(pointer));
}

// A list of their ends, or the approximation whose near pairs they are.
std::vector<Rectangle> rectangles_from_r(SEXP rectangles) {
  if (TYPEOF(rectangles) == EXTPTRSXP) return approximation_behind(rectangles).near();
  const Rcpp::List from(rectangles);
  const Rcpp::NumericVector columns[] = {from["i_from"], from["i_to"], from["j_from"], from["j_to"]};
  std::vector<Rectangle> out(static_cast<std::size_t>(columns[0].size()));
  const auto range = [&](int side, R_xlen_t k) {
    return Range{static_cast<std::int64_t>(columns[side][k]) - 1, static_cast<std::int64_t>(columns[side + 1][k])};
  };
  for (std::size_t k = 0; k < out.size(); ++k)
    out[k] = {range(0, static_cast<R_xlen_t>(k)), range(2, static_cast<R_xlen_t>(k))};
  return out;
}

Order order_from_r(SEXP order) {
  Order out;
  if (Rf_isNull(order)) return out;
  for (const double place : Rcpp::NumericVector(order)) out.push_back(static_cast<std::int64_t>(place) - 1);
  return out;
}

// Rows that are looked at together, since entries of a pattern are anywhere; columns without entries that are not worth
// a span's end.
constexpr std::int64_t kPatternRows = 16, kPatternGap = 8;

PairSpans spans_of_pattern(const View& pattern) {
  struct PatternColumn {
    std::int64_t number, entries;
  };
  std::vector<std::vector<PatternColumn>> found(
      static_cast<std::size_t>((pattern.rows + kPatternRows - 1) / kPatternRows));
  for (std::int64_t c = 0; c < pattern.columns; ++c)
    for (int k = pattern.starts[c]; k < pattern.starts[c + 1]; ++k) {
      std::vector<PatternColumn>& here = found[static_cast<std::size_t>(pattern.places[k] / kPatternRows)];
      if (here.empty() || here.back().number != c) here.push_back({c, 0});
      ++here.back().entries;
    }
  PairSpans spans(pattern.rows, pattern.columns);
  for (std::size_t b = 0; b < found.size(); ++b) {
    const std::int64_t end = std::min(static_cast<std::int64_t>(b + 1) * kPatternRows, pattern.rows),
                       rows = end - static_cast<std::int64_t>(b) * kPatternRows;
    std::vector<PairSpan> of_block;
    for (const PatternColumn& column : found[b]) {
      const bool partial = column.entries < rows;
      const bool near =
          !of_block.empty() && of_block.back().partial && column.number - of_block.back().columns.to < kPatternGap;
      if (partial && near) of_block.back().columns.to = column.number + 1;
      else of_block.push_back({{column.number, column.number + 1}, partial});
    }
    spans.add_block(end, of_block);
  }
  return spans;
}

View view_of_pattern(const Rcpp::RObject& pattern) {
  const OperandData data = operands_of({Rcpp::List::create(pattern), {}})[0];
  internal_check(data.state == OperandData::State::there && data.view.sparse(), "a damaged pattern");
  return data.view;
}

SharedMap map_of(const Rcpp::List& rule, std::int64_t rows, std::int64_t columns, bool single) {
  Order order_i = order_from_r(rule["order_i"]), order_j = order_from_r(rule["order_j"]);
  const SEXP rectangles = rule["rectangles"], pattern = rule["pattern"], where = rule["where"];
  PairSpans spans = !Rf_isNull(pattern)      ? spans_of_pattern(view_of_pattern(pattern))
                    : !Rf_isNull(rectangles) ? spans_of(rows, columns, rectangles_from_r(rectangles))
                                             : spans_of(rows, columns, {{{0, rows}, {0, columns}}});
  if (Rf_isNull(where))
    return std::make_shared<PairMap>(std::move(spans), std::move(order_i), std::move(order_j), nullptr);
  Formulas formulas;
  const Expr allowed = normalised({formulas.read(where)})[0];
  const Rcpp::List operands = formulas.operands();
  Rcpp::List data(operands.size());
  for (R_xlen_t k = 0; k < operands.size(); ++k) data[k] = Rcpp::Environment(operands[k])["data"];
  std::vector<View> views;
  // If an operand has outer axes, bounds of one run do not hold for the others.
  for (const OperandData& operand : operands_of({data, operands})) {
    views.push_back(operand.view);
    if (!operand.outer.empty()) views.back().data = nullptr;
  }
  PairBounds bounds(allowed, single, views, rows, columns, order_i, order_j);
  PairSpans left = refined(spans, &bounds);
  const SharedMap whole =
      Rf_isNull(pattern) ? std::make_shared<PairMap>(std::move(spans), Order(), Order(), nullptr) : nullptr;
  return std::make_shared<PairMap>(std::move(left), std::move(order_i), std::move(order_j), whole);
}

}  // namespace

ExistingPairs pairs_from_r(SEXP pairs) {
  if (Rf_isNull(pairs)) return {};
  const Rcpp::List from(pairs);
  return {map_behind(from["map"]), Rcpp::as<bool>(from["swapped"])};
}

}  // namespace kernweave

// `rule`: a list with rectangles, orders `order_i` and `order_j`, a pattern, a formula; NULL where there is none.
// `single`: may the formula be computed in float32?
// [[Rcpp::export(rng = false)]]
SEXP r_pair_map(Rcpp::List rule, double rows, double columns, bool single) {
  return kernweave::at_border([&]() -> SEXP {
    const auto extent = [](double points) { return static_cast<std::int64_t>(points); };
    const auto map = kernweave::map_of(rule, extent(rows), extent(columns), single);
    return Rcpp::XPtr<kernweave::SharedMap>(new kernweave::SharedMap(map), true, kernweave::map_tag());
  });
}

// How many pairs are in full spans, how many in partial ones; blocks of rows.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector r_pair_counts(SEXP map) {
  return kernweave::at_border([&] {
    const kernweave::PairSpans& spans = kernweave::map_behind(map)->along(true);
    return Rcpp::NumericVector::create(Rcpp::_["full"] = spans.full_pairs(), Rcpp::_["partial"] = spans.partial_pairs(),
                                       Rcpp::_["blocks"] = static_cast<double>(spans.blocks()));
  });
}
