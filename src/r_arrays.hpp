// Helpers that the verbs for arrays share at the border to R.
#pragma once
#include "border.hpp"
#include "arrays/items.hpp"

namespace kernweave {

arrays::Workers workers_from_r(int threads);

constexpr Index kMostInt = 2147483647;

// Whole numbers of R, integer or double; NULL for none.
inline arrays::Whole whole_from_r(SEXP x) {
  return {TYPEOF(x) == INTSXP ? INTEGER_RO(x) : nullptr, TYPEOF(x) == REALSXP ? REAL_RO(x) : nullptr,
          Rf_isNull(x) ? 0 : static_cast<Index>(Rf_xlength(x))};
}

// Number k of a vector from 0, NaN for a missing one, wherever it lies.
double number_at(SEXP x, Index k);

}  // namespace kernweave
