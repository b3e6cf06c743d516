// What the verbs for arrays have in common at the border to R.
#pragma once
#include <Rcpp.h>
#include "arrays/pieces.hpp"

namespace kernweave {

arrays::Workers workers_from_r(int threads);

constexpr Index kMostInt = 2147483647;

// Whole numbers of R, integer or double, as a list of Index (kernweave/partition.hpp).
struct Whole {
  explicit Whole(SEXP x)
      : integers(TYPEOF(x) == INTSXP ? INTEGER_RO(x) : nullptr),
        doubles(TYPEOF(x) == REALSXP ? REAL_RO(x) : nullptr),
        length(Rf_xlength(x)) {}
  Index operator[](Index k) const { return integers ? integers[k] : static_cast<Index>(doubles[k]); }

  const int* integers;
  const double* doubles;
  Index length;
};

// Calls f with the numbers as a plain array.
template <class F>
void with_array(const Whole& whole, F f) {
  if (whole.integers) f(whole.integers);
  else f(whole.doubles);
}

}  // namespace kernweave
