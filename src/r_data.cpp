// Conversion of R's matrices to operands, and the names of their points.
#include "r_data.hpp"

#include "base/error.hpp"
#include "base/view.hpp"
#include "border.hpp"
#include "r_pairs.hpp"
#include "r_resident.hpp"

namespace kernweave {
namespace {

// The entries of a sparse matrix, with what R's Matrix package calls p, i and Dim. Saved data may be damaged: no number
// is believed that would lead out of them.
OperandData sparse_operand(SEXP entries, SEXP pattern) {
  OperandData damaged;
  damaged.state = OperandData::State::damaged;
  const auto part = [&](R_xlen_t k) { return VECTOR_ELT(pattern, k); };
  if (TYPEOF(pattern) != VECSXP || Rf_xlength(pattern) < 3) return damaged;
  for (R_xlen_t k = 0; k < 3; ++k)
    if (TYPEOF(part(k)) != INTSXP) return damaged;
  const SEXP starts = part(0), places = part(1), extent = part(2);
  if (Rf_xlength(extent) != 2 || Rf_xlength(places) != Rf_xlength(entries)) return damaged;
  OperandData operand;
  View& view = operand.view;
  view.data = REAL_RO(entries);
  view.rows = INTEGER_RO(extent)[0];
  view.columns = INTEGER_RO(extent)[1];
  view.starts = INTEGER_RO(starts);
  view.places = INTEGER_RO(places);
  return Rf_xlength(starts) == view.columns + 1 && is_sound(view, Rf_xlength(places)) ? operand : damaged;
}

void forget_data(SEXP pointer) {
  delete static_cast<Kept*>(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

// The vector of an operand, NULL of a placeholder.
SEXP own_data(SEXP operand) {
  static const SEXP own = Rf_install("data");
  return own_variable(operand, own);
}

// Copies are kept only of data that are the operand's own, and long enough to be worth it. The external pointer knows
// the vector that it was made for: once the operand has another vector, its copy is stale. The way there is weak
// reference -> pointer -> vector. A weak reference, because it is not saved with the operand, so the numbers are not
// saved twice; a pointer between, because R_MakeWeakRef duplicates a shared value, so the vector cannot be its value
// itself. An external pointer that was saved and loaded is empty.
bool was_made_for(SEXP pointer, SEXP data) {
  const SEXP holder = R_WeakRefValue(R_ExternalPtrProtected(pointer));
  return TYPEOF(holder) == EXTPTRSXP && R_ExternalPtrProtected(holder) == data;
}

Kept* kept_by(SEXP operand, SEXP data) {
  constexpr R_xlen_t kWorthKeeping = 4096;
  static const SEXP kept = Rf_install("kept");
  if (TYPEOF(operand) != ENVSXP || Rf_xlength(data) < kWorthKeeping || own_data(operand) != data) return nullptr;
  const SEXP found = own_variable(operand, kept);
  if (TYPEOF(found) == EXTPTRSXP && R_ExternalPtrAddr(found) && was_made_for(found, data))
    return static_cast<Kept*>(R_ExternalPtrAddr(found));
  const Rcpp::Shield<SEXP> holder(R_MakeExternalPtr(nullptr, kept, data));
  const Rcpp::Shield<SEXP> made_for(R_MakeWeakRef(operand, holder, R_NilValue, FALSE));
  const Rcpp::Shield<SEXP> pointer(R_MakeExternalPtr(new Kept, kept, made_for));
  R_RegisterCFinalizer(pointer, forget_data);
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
    operand.view.rows = static_cast<std::int64_t>(REAL_RO(window)[0]);
    operand.view.columns = static_cast<std::int64_t>(REAL_RO(window)[1]);
    operand.view.apart = static_cast<std::int64_t>(REAL_RO(window)[2]);
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

}  // namespace

std::vector<OperandData> operands_of(const Given& given) {
  std::vector<OperandData> operands;
  for (R_xlen_t k = 0; k < given.data.size(); ++k)
    operands.push_back(operand_of(given.data[k], k < given.operands.size() ? SEXP(given.operands[k]) : R_NilValue));
  return operands;
}

Known known_from_r(const Rcpp::NumericVector& extents, SEXP pairs) {
  internal_check(extents.size() >= 2, "a damaged extent");
  const auto extent = [&](R_xlen_t k) { return ISNAN(extents[k]) ? -1 : static_cast<std::int64_t>(extents[k]); };
  return {extent(0), extent(1), pairs_from_r(pairs)};
}

namespace {

// For tests and timings, which compare both ways: TRUE for boxes wherever they may be, FALSE for none.
Boxes boxes_of_tests() {
  const SEXP told = Rf_GetOption1(Rf_install("kernweave.boxes"));
  if (TYPEOF(told) != LGLSXP || Rf_length(told) != 1) return Boxes::trial;
  return LOGICAL(told)[0] == TRUE ? Boxes::always : Boxes::none;
}

}  // namespace

Settings settings_from_r(const Rcpp::List& options) {
  Settings settings;
  settings.device = Rcpp::as<std::string>(options["device"]);
  if (options.containsElementNamed("threads") && !Rf_isNull(options["threads"]))
    settings.threads = Rcpp::as<int>(options["threads"]);
  if (options.containsElementNamed("folded")) settings.folded = Rcpp::as<int>(options["folded"]);
  settings.gpu_bytes = Rcpp::as<double>(options["gpu_mb"]) * 1e6;
  settings.boxes = boxes_of_tests();
  return settings;
}

// Takes names by operand numbers, which no rewriting changes.
PointNames names_of(const Plan& plan, const Given& given) {
  PointNames names;
  int first_i = Variable::kResults, first_j = Variable::kResults;
  const auto note = [&](const Variable& v, int side, int* first, Rcpp::RObject* found) {
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

}  // namespace kernweave

// A living operand among those last seen here that has this vector, the same one in memory; else NULL, and this operand
// is one of those seen. None is kept alive by that.
// [[Rcpp::export(rng = false)]]
SEXP r_fellow(SEXP operand, SEXP data) {
  return kernweave::at_border([&]() -> SEXP {
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
      if (TYPEOF(other) == ENVSXP && kernweave::own_data(other) == data) return other;
    }
    SET_VECTOR_ELT(seen, next, R_MakeWeakRef(operand, R_NilValue, R_NilValue, FALSE));
    next = (next + 1) % kSeen;
    return R_NilValue;
  });
}
