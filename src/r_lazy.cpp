// A lazy tensor as R holds it (formula, extent, settings, pairs), and how several meet in one operation.
// In C++ because every operator a user types comes through here.
#include "border.hpp"
#include "r_formula.hpp"

#include <cmath>
#include "expr/show.hpp"

namespace kernweave {
namespace {

enum Part { kFormula, kExtent, kSettings, kPairs };

SEXP part_of(SEXP lazy, Part part) {
  internal_check(TYPEOF(lazy) == VECSXP && Rf_length(lazy) == 4, "a damaged lazy tensor");
  return VECTOR_ELT(lazy, part);
}

std::string shown(SEXP lazy) {
  Formulas formulas;
  return show_short(formulas.read(part_of(lazy, kFormula)));
}

double extent_of(SEXP lazy, int axis) {
  const SEXP extent = part_of(lazy, kExtent);
  internal_check(TYPEOF(extent) == REALSXP && Rf_length(extent) == 2, "a damaged extent");
  return REAL(extent)[axis];
}

// The number of points along an axis, from the arguments that know it; NA if none does.
double met_extent(const Rcpp::List& args, int axis) {
  R_xlen_t knows = -1;
  double known = NA_REAL;
  for (R_xlen_t k = 0; k < args.size(); ++k) {
    const double here = extent_of(args[k], axis);
    if (std::isnan(here)) continue;
    user_check(knows < 0 || here == known, Fault::shape, "`", knows < 0 ? "" : shown(args[knows]), "` has ", known,
               " points along ", axis == 0 ? "i" : "j", ", but `", knows < 0 ? "" : shown(args[k]), "` has ", here);
    known = here;
    knows = k;
  }
  return known;
}

// What one argument has set holds for all; where two have, R decides.
SEXP met_list(const Rcpp::List& args, Part part, const char* decider) {
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

SEXP lazy_from(SEXP formula, const Rcpp::List& args) {
  const char* names[] = {"formula", "extent", "settings", "pairs", ""};
  const Rcpp::Shield<SEXP> lazy(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(lazy, kFormula, formula);
  SET_VECTOR_ELT(lazy, kExtent, Rf_allocVector(REALSXP, 2));
  for (int axis = 0; axis < 2; ++axis) REAL(VECTOR_ELT(lazy, kExtent))[axis] = met_extent(args, axis);
  SET_VECTOR_ELT(lazy, kSettings, met_list(args, kSettings, "merge_settings"));
  SET_VECTOR_ELT(lazy, kPairs, met_list(args, kPairs, "merge_pairs"));
  Rf_setAttrib(lazy, R_ClassSymbol, Rf_mkString("lazy_tensor"));
  return Rf_asS4(lazy, TRUE, FALSE);
}

}  // namespace
}  // namespace kernweave

// An operation on lazy tensors.
// [[Rcpp::export(rng = false)]]
SEXP r_lazy_call(SEXP op, Rcpp::List args, SEXP attributes) {
  return kernweave::at_border([&]() -> SEXP {
    Rcpp::List formulas(args.size());
    for (R_xlen_t k = 0; k < args.size(); ++k) formulas[k] = kernweave::part_of(args[k], kernweave::kFormula);
    const Rcpp::RObject formula = kernweave::applied(CHAR(STRING_ELT(op, 0)), formulas, attributes);
    return kernweave::lazy_from(formula, args);
  });
}

// Several lazy tensors that meet without an operation: the first one's formula, everybody's extent,
// settings and pairs.
// [[Rcpp::export(rng = false)]]
SEXP r_meet(Rcpp::List args) {
  return kernweave::at_border([&]() -> SEXP {
    return kernweave::lazy_from(kernweave::part_of(args[0], kernweave::kFormula), args);
  });
}
