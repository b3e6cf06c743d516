// Converts R's matrices to operands, with the names of their points, and R's rules to maps of pairs.
#include "base/view.hpp"
#include "expr/rewrite.hpp"
#include "pairs/pair_bounds.hpp"
#include "r_call.hpp"

namespace kernweave {
namespace {

// Makes an operand of a sparse matrix's entries, with the fields p, i and Dim of R's Matrix package. Saved data may be
// damaged: numbers that would lead out of the entries are refused.
OperandData sparse_operand(SEXP entries, SEXP pattern) {
  const OperandData damaged{OperandData::State::damaged};
  if (TYPEOF(pattern) != VECSXP || Rf_xlength(pattern) < 3) return damaged;
  const SEXP starts = VECTOR_ELT(pattern, 0), places = VECTOR_ELT(pattern, 1), extent = VECTOR_ELT(pattern, 2);
  if (TYPEOF(starts) != INTSXP || TYPEOF(places) != INTSXP || TYPEOF(extent) != INTSXP) return damaged;
  if (Rf_xlength(extent) != 2 || Rf_xlength(places) != Rf_xlength(entries)) return damaged;
  const int* const dim = INTEGER_RO(extent);
  const View view{REAL_RO(entries), dim[0], dim[1], nullptr, INTEGER_RO(starts), INTEGER_RO(places)};
  const bool sound = Rf_xlength(starts) == view.columns + 1 && is_sound(view, Rf_xlength(places));
  return sound ? OperandData{OperandData::State::there, view} : damaged;
}

// Returns the vector of an operand; NULL for a placeholder.
SEXP own_data(SEXP operand) {
  static const SEXP own = Rf_install("data");
  return own_variable(operand, own);
}

// Copies are kept only of data that are the operand's own, and that are long enough to be worth it. The external
// pointer holds the vector for which it was made: once the operand has another vector, the copy is stale. An external
// pointer that was saved and loaded is empty.
Kept* kept_by(SEXP operand, SEXP data) {
  constexpr R_xlen_t kWorthKeeping = 4096;
  static const SEXP kept = Rf_install("kept");
  if (TYPEOF(operand) != ENVSXP || Rf_xlength(data) < kWorthKeeping || own_data(operand) != data) return nullptr;
  const SEXP found = own_variable(operand, kept);
  if (TYPEOF(found) == EXTPTRSXP && R_ExternalPtrAddr(found) && held_by(found) == data)
    return static_cast<Kept*>(R_ExternalPtrAddr(found));
  const Shield<SEXP> pointer(R_MakeExternalPtr(new Kept, kept, R_NilValue));
  R_RegisterCFinalizer(pointer, forget<Kept>);
  hold(pointer, data, operand);
  Rf_defineVar(kept, pointer, operand);
  return static_cast<Kept*>(R_ExternalPtrAddr(pointer));
}

OperandData operand_of(SEXP data, SEXP owner) {
  OperandData operand;
  if (TYPEOF(data) != REALSXP) {
    operand.state = OperandData::State::none;
    return operand;
  }
  if (const SEXP pattern = Rf_getAttrib(data, Rf_install("sparse")); !Rf_isNull(pattern))
    return sparse_operand(data, pattern);
  Kept* const on_device = resident(data);
  operand.resident = on_device != nullptr;
  operand.view.kept = on_device ? on_device : kept_by(owner, data);
  if (!on_device || on_device->copies.empty()) operand.view.data = numbers_on_host(data);
  const SEXP dim = Rf_getAttrib(data, R_DimSymbol);
  operand.view.rows = Rf_length(dim) < 2 ? Rf_xlength(data) : INTEGER_RO(dim)[0];
  operand.view.columns = Rf_length(dim) < 2 ? 1 : INTEGER_RO(dim)[1];
  for (int a = 2; a < Rf_length(dim); ++a) operand.outer.push_back(INTEGER_RO(dim)[a]);
  if (const SEXP window = Rf_getAttrib(data, Rf_install("window")); TYPEOF(window) == REALSXP) {
    const std::int64_t numbers = operand.view.rows;
    internal_check(Rf_length(window) == 3, "a damaged window");
    const auto whole = [&](int k) { return static_cast<std::int64_t>(REAL_RO(window)[k]); };
    operand.view.rows = whole(0), operand.view.columns = whole(1), operand.view.apart = whole(2);
    internal_check(operand.view.numbers() <= numbers && operand.view.rows >= 1 && operand.view.columns >= 1,
                   "a window that reaches over its vector");
  }
  return operand;
}

// Returns the names of rows (0) or columns (1). A vector has rows.
SEXP names_along(SEXP data, int side) {
  const SEXP pattern = Rf_getAttrib(data, Rf_install("sparse"));
  if (TYPEOF(pattern) == VECSXP && Rf_length(pattern) > 3) {
    const SEXP names = VECTOR_ELT(pattern, 3);
    return TYPEOF(names) == VECSXP && Rf_length(names) > side ? VECTOR_ELT(names, side) : R_NilValue;
  }
  if (Rf_isNull(Rf_getAttrib(data, R_DimSymbol))) return side == 0 ? Rf_getAttrib(data, R_NamesSymbol) : R_NilValue;
  const SEXP names = Rf_getAttrib(data, R_DimNamesSymbol);
  return Rf_length(names) > side ? VECTOR_ELT(names, side) : R_NilValue;
}

using SharedMap = std::shared_ptr<const PairMap>;

constexpr const char* kMapTag = "kernweave_pairs";

SEXP map_to_r(SharedMap map) { return XPtr<SharedMap>(new SharedMap(std::move(map)), true, Rf_install(kMapTag)); }
const SharedMap& map_behind(SEXP pointer) { return object_behind<SharedMap>(pointer, kMapTag, "map of pairs"); }

// `rectangles` is a list of their ends, or an approximation, whose near pairs they are.
std::vector<Rectangle> rectangles_from_r(SEXP rectangles) {
  if (TYPEOF(rectangles) == EXTPTRSXP) return approximation_behind(rectangles).near();
  const List from(rectangles);
  const NumericVector rows = from["i_from"], row_ends = from["i_to"], columns = from["j_from"], ends = from["j_to"];
  std::vector<Rectangle> out;
  const auto place = [](double number) { return static_cast<std::int64_t>(number); };
  for (R_xlen_t k = 0; k < rows.size(); ++k)
    out.push_back({{place(rows[k]) - 1, place(row_ends[k])}, {place(columns[k]) - 1, place(ends[k])}});
  return out;
}

Order order_from_r(SEXP order) {
  Order out;
  if (Rf_isNull(order)) return out;
  for (const double place : NumericVector(order)) out.push_back(static_cast<std::int64_t>(place) - 1);
  return out;
}

// A pattern's entries may be anywhere, so some rows share their spans, and a few empty columns do not end a span.
PairSpans spans_of_pattern(const View& pattern) {
  constexpr std::int64_t rows_at_once = 16, gap = 8;
  std::vector<std::vector<PairSpan>> found(static_cast<std::size_t>((pattern.rows + rows_at_once - 1) / rows_at_once));
  const auto end_of = [&](std::int64_t block) { return std::min((block + 1) * rows_at_once, pattern.rows); };
  for (std::int64_t c = 0; c < pattern.columns; ++c)
    for (int k = pattern.starts[c], next; k < pattern.starts[c + 1]; k = next) {
      const std::int64_t block = pattern.places[k] / rows_at_once;
      for (next = k; next < pattern.starts[c + 1] && pattern.places[next] < end_of(block);) ++next;
      const bool partial = next - k < end_of(block) - block * rows_at_once;
      std::vector<PairSpan>& here = found[static_cast<std::size_t>(block)];
      const bool near = partial && !here.empty() && here.back().partial && c - here.back().columns.to < gap;
      if (near) here.back().columns.to = c + 1;
      else here.push_back({{c, c + 1}, partial});
    }
  PairSpans spans(pattern.rows, pattern.columns);
  for (std::size_t b = 0; b < found.size(); ++b) spans.add_block(end_of(static_cast<std::int64_t>(b)), found[b]);
  return spans;
}

View view_of_pattern(const RObject& pattern) {
  const OperandData data = operands_of({List::create(pattern), {}})[0];
  internal_check(data.state == OperandData::State::there && data.view.sparse(), "a damaged pattern");
  return data.view;
}

}  // namespace

std::vector<OperandData> operands_of(const Given& given) {
  std::vector<OperandData> operands;
  for (R_xlen_t k = 0; k < given.data.size(); ++k)
    operands.push_back(operand_of(given.data[k], k < given.operands.size() ? SEXP(given.operands[k]) : R_NilValue));
  return operands;
}

Known known_from_r(const NumericVector& extent, SEXP pairs) {
  internal_check(extent.size() >= 2, "a damaged extent");
  const auto points = [&](R_xlen_t k) { return ISNAN(extent[k]) ? -1 : static_cast<std::int64_t>(extent[k]); };
  return {points(0), points(1), pairs_from_r(pairs)};
}

Settings settings_from_r(const List& options) {
  Settings settings;
  settings.device = as<std::string>(options["device"]);
  if (options.containsElementNamed("threads") && !Rf_isNull(options["threads"]))
    settings.threads = as<int>(options["threads"]);
  if (options.containsElementNamed("folded")) settings.folded = as<int>(options["folded"]);
  settings.gpu_bytes = as<double>(options["gpu_mb"]) * 1e6;
  // For tests and timings, which compare both ways: TRUE for boxes wherever they may be, FALSE for none.
  settings.boxes = Boxes::trial;
  if (const SEXP told = Rf_GetOption1(Rf_install("kernweave.boxes")); TYPEOF(told) == LGLSXP && Rf_length(told) == 1)
    settings.boxes = LOGICAL(told)[0] == TRUE ? Boxes::always : Boxes::none;
  return settings;
}

// Takes names by operand numbers, which no rewriting changes.
PointNames names_of(const Plan& plan, const Given& given) {
  PointNames names;
  int first_i = Variable::kResults, first_j = Variable::kResults;
  const auto note = [&](const Variable& v, int side, int* first, RObject* found) {
    if (v.operand >= *first) return;
    const SEXP here = names_along(given.data[v.operand], side);
    if (Rf_isNull(here)) return;
    *first = v.operand;
    *found = here;
  };
  for (std::size_t k = 0; k < plan.variables.size(); ++k) {
    const Variable& v = plan.variables[k];
    if (!plan.direct[k] || !has_operand(v)) continue;
    const bool pairwise = is_pairwise(v);
    if (v.axis == Axis::i || pairwise) note(v, v.axis == Axis::pair_swapped ? 1 : 0, &first_i, &names.i);
    if (v.axis == Axis::j || pairwise) note(v, v.axis == Axis::pair ? 1 : 0, &first_j, &names.j);
  }
  return names;
}

// Returns a living operand with this vector, the same one in memory, among the operands last seen here; if there is
// none, returns NULL and notes this operand as seen. Notes keep no operand alive.
// [[Rcpp::export(rng = false)]]
SEXP r_fellow(SEXP operand, SEXP data) {
  constexpr int kSeen = 8;
  static const SEXP seen = [] {
    const SEXP list = Rf_allocVector(VECSXP, kSeen);
    R_PreserveObject(list);
    return list;
  }();
  static int next = 0;
  for (int k = 0; k < kSeen; ++k) {
    const SEXP reference = VECTOR_ELT(seen, k);
    if (TYPEOF(reference) != WEAKREFSXP) continue;
    const SEXP other = R_WeakRefKey(reference);
    if (TYPEOF(other) == ENVSXP && own_data(other) == data) return other;
  }
  SET_VECTOR_ELT(seen, next, R_MakeWeakRef(operand, R_NilValue, R_NilValue, FALSE));
  next = (next + 1) % kSeen;
  return R_NilValue;
}

ExistingPairs pairs_from_r(SEXP pairs) {
  if (Rf_isNull(pairs)) return {};
  const List from(pairs);
  return {map_behind(from["map"]), as<bool>(from["swapped"])};
}

// `rule`: a list with rectangles, orders `order_i` and `order_j`, a pattern, a formula; each may be NULL.
// `single`: may the formula be computed in float32?
// [[Rcpp::export(rng = false)]]
SEXP r_pair_map(List rule, double i, double j, bool single) {
  const auto rows = static_cast<std::int64_t>(i), columns = static_cast<std::int64_t>(j);
  Order order_i = order_from_r(rule["order_i"]), order_j = order_from_r(rule["order_j"]);
  const SEXP rectangles = rule["rectangles"], pattern = rule["pattern"], where = rule["where"];
  PairSpans spans = !Rf_isNull(pattern)      ? spans_of_pattern(view_of_pattern(pattern))
                    : !Rf_isNull(rectangles) ? spans_of(rows, columns, rectangles_from_r(rectangles))
                                             : spans_of(rows, columns, {{{0, rows}, {0, columns}}});
  if (Rf_isNull(where))
    return map_to_r(std::make_shared<PairMap>(std::move(spans), std::move(order_i), std::move(order_j), nullptr));
  Formulas formulas;
  const Expr allowed = normalised({formulas.read(where)})[0];
  const List operands = formulas.operands();
  List data;
  for (const SEXP operand : operands) data.push_back(own_data(operand));
  std::vector<View> views;
  // If an operand has outer axes, bounds of one run do not hold for the others.
  for (const OperandData& operand : operands_of({data, operands})) {
    views.push_back(operand.view);
    if (!operand.outer.empty()) views.back().data = nullptr;
  }
  PairBounds bounds(allowed, single, views, rows, columns, order_i, order_j);
  PairSpans left = refined(spans, &bounds);
  SharedMap whole;
  if (Rf_isNull(pattern)) whole = std::make_shared<PairMap>(std::move(spans), Order(), Order(), nullptr);
  return map_to_r(std::make_shared<PairMap>(std::move(left), std::move(order_i), std::move(order_j), whole));
}

// Counts the pairs in full spans, the pairs in partial spans, and the blocks of rows.
// [[Rcpp::export(rng = false)]]
NumericVector r_pair_counts(SEXP map) {
  const PairSpans& spans = map_behind(map)->along(true);
  return NumericVector::create(_["full"] = spans.full_pairs(), _["partial"] = spans.partial_pairs(),
                               _["blocks"] = static_cast<double>(spans.blocks()));
}

}  // namespace kernweave
