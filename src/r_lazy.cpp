// A lazy tensor as R holds it (formula, extent, settings, pairs, kept), and how several meet in one operation.
// In C++ because every operator a user types comes through here.
#include "border.hpp"
#include "r_formula.hpp"

#include <algorithm>
#include <cmath>
#include "expr/parse.hpp"

namespace kernweave {
namespace {

enum LazyField { kFormula, kExtent, kSettings, kPairs, kKept };

SEXP part_of(SEXP lazy, LazyField part) {
  internal_check(TYPEOF(lazy) == VECSXP && Rf_length(lazy) == 5, "a damaged lazy tensor");
  return VECTOR_ELT(lazy, part);
}

std::string shown(SEXP lazy) {
  Formulas formulas;
  return show_short(formulas.read(part_of(lazy, kFormula)));
}

double extent_of(SEXP lazy, R_xlen_t axis) {
  const SEXP extent = part_of(lazy, kExtent);
  internal_check(TYPEOF(extent) == REALSXP && Rf_xlength(extent) >= 2, "a damaged extent");
  return axis < Rf_xlength(extent) ? REAL(extent)[axis] : NA_REAL;
}

// Room for i, j, and as many batch axes as any argument has.
R_xlen_t met_length(const Rcpp::List& args) {
  R_xlen_t longest = 2;
  for (R_xlen_t k = 0; k < args.size(); ++k) longest = std::max(longest, Rf_xlength(part_of(args[k], kExtent)));
  return longest;
}

[[noreturn]] void extents_differ(SEXP a, SEXP b, R_xlen_t axis) {
  const std::string along = axis == 0 ? "i" : axis == 1 ? "j" : sentence("batch axis ", axis - 1);
  fail(Fault::shape, "`", shown(a), "` has ", extent_of(a, axis), " points along ", along, ", but `", shown(b),
       "` has ", extent_of(b, axis));
}

// The number of points along an axis, from the arguments that know it; NA if none does. Along a batch axis
// 1 goes with any number.
double met_extent(const Rcpp::List& args, R_xlen_t axis) {
  R_xlen_t knows = -1;
  for (R_xlen_t k = 0; k < args.size(); ++k) {
    const double here = extent_of(args[k], axis);
    if (std::isnan(here) || (axis > 1 && here == 1 && knows >= 0)) continue;
    const double known = knows < 0 ? here : extent_of(args[knows], axis);
    if (here != known && !(axis > 1 && known == 1)) extents_differ(args[knows], args[k], axis);
    knows = k;
  }
  return knows < 0 ? NA_REAL : extent_of(args[knows], axis);
}

// Merges a field of all arguments. A field that a single argument has set holds for all; if two have, R decides.
SEXP met_list(const Rcpp::List& args, LazyField part, const char* decider) {
  Rcpp::RObject met = R_NilValue;
  for (R_xlen_t k = 0; k < args.size(); ++k) {
    const SEXP here = part_of(args[k], part);
    if (Rf_isNull(here) || here == static_cast<SEXP>(met)) continue;
    if (met.isNULL()) {
      met = here;
      continue;
    }
    const Rcpp::Function merge = Rcpp::Environment::namespace_env("kernweave")[decider];
    met = merge(met, here);
  }
  return met;
}

SEXP kept_tag() { return Rf_install("kernweave_kept"); }

// Makes a lazy tensor, with a place for what is made once, see r_kept().
SEXP lazy_of(SEXP formula, SEXP extent, SEXP settings, SEXP pairs) {
  const char* names[] = {"formula", "extent", "settings", "pairs", "kept", ""};
  const Rcpp::Shield<SEXP> lazy(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(lazy, kFormula, formula);
  SET_VECTOR_ELT(lazy, kExtent, extent);
  SET_VECTOR_ELT(lazy, kSettings, settings);
  SET_VECTOR_ELT(lazy, kPairs, pairs);
  SET_VECTOR_ELT(lazy, kKept, R_MakeExternalPtr(nullptr, kept_tag(), R_NilValue));
  Rf_setAttrib(lazy, R_ClassSymbol, Rf_mkString("lazy_tensor"));
  return Rf_asS4(lazy, TRUE, FALSE);
}

SEXP met_lazy(SEXP formula, const Rcpp::List& args) {
  Rcpp::NumericVector extent(met_length(args));
  for (R_xlen_t axis = 0; axis < extent.size(); ++axis) extent[axis] = met_extent(args, axis);
  const Rcpp::RObject settings = met_list(args, kSettings, "merge_settings");
  const Rcpp::RObject pairs = met_list(args, kPairs, "merge_pairs");
  return lazy_of(formula, extent, settings, pairs);
}

}  // namespace
}  // namespace kernweave

// [[Rcpp::export(rng = false)]]
SEXP r_lazy(SEXP formula, SEXP extent, SEXP settings, SEXP pairs) {
  return kernweave::at_border([&]() -> SEXP { return kernweave::lazy_of(formula, extent, settings, pairs); });
}

// The environment of what was made of a lazy tensor once. The tensor holds a pointer, and this a weak reference, which
// is not saved: what a tensor weighs in a file does not depend on what has been done with it, and in a new session
// there is nothing yet.
// [[Rcpp::export(rng = false)]]
SEXP r_kept(SEXP lazy) {
  return kernweave::at_border([&]() -> SEXP {
    const SEXP pointer = kernweave::part_of(lazy, kernweave::kKept);
    kernweave::internal_check(TYPEOF(pointer) == EXTPTRSXP, "a damaged lazy tensor");
    const SEXP held = R_ExternalPtrProtected(pointer);
    if (TYPEOF(held) == WEAKREFSXP && !Rf_isNull(R_WeakRefValue(held))) return R_WeakRefValue(held);
    const Rcpp::Shield<SEXP> kept(R_NewEnv(R_EmptyEnv, FALSE, 0));
    R_SetExternalPtrProtected(pointer, R_MakeWeakRef(pointer, kept, R_NilValue, FALSE));
    return kept;
  });
}

// An operation on lazy tensors.
// [[Rcpp::export(rng = false)]]
SEXP r_lazy_call(SEXP op, Rcpp::List args, SEXP attributes) {
  return kernweave::at_border([&]() -> SEXP {
    Rcpp::List formulas(args.size());
    for (R_xlen_t k = 0; k < args.size(); ++k) formulas[k] = kernweave::part_of(args[k], kernweave::kFormula);
    const Rcpp::RObject formula = kernweave::applied(CHAR(STRING_ELT(op, 0)), formulas, attributes);
    return kernweave::met_lazy(formula, args);
  });
}

// Several lazy tensors that meet without an operation: the first one's formula, everybody's extent,
// settings and pairs.
// [[Rcpp::export(rng = false)]]
SEXP r_meet(Rcpp::List args) {
  return kernweave::at_border(
      [&]() -> SEXP { return kernweave::met_lazy(kernweave::part_of(args[0], kernweave::kFormula), args); });
}
