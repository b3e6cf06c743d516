// R's way to the verbs for arrays: what is checked there, plans.
#include "r_arrays.hpp"
#include "border.hpp"
#include <cmath>
#include "arrays/offsets.hpp"

namespace kernweave {

arrays::Workers workers_from_r(int threads) {
  return {allowed_threads(threads), [](double) { poll_interrupt(); }};
}

}  // namespace kernweave

// The place of the first number that is not whole, or out of range; 0 for none.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_first_not_whole(SEXP x, double least, double most) {
  return kernweave::at_border([&] {
    const R_xlen_t n = Rf_xlength(x);
    R_xlen_t at = n;
    bool whole = true;
    if (TYPEOF(x) == INTSXP) {
      const int* const values = INTEGER_RO(x);
      at = std::find_if(values, values + n, [&](int v) { return v == NA_INTEGER || v < least || v > most; }) - values;
      whole = at == n || values[at] != NA_INTEGER;
    } else {
      const double* const values = REAL_RO(x);
      constexpr double kLargest = 0x1p53;
      const auto wrong = [&](double v) { return !(v >= least && v <= most && v <= kLargest && v == std::trunc(v)); };
      at = std::find_if(values, values + n, wrong) - values;
      whole = at == n || values[at] == std::trunc(values[at]);
    }
    return Rcpp::List::create(Rcpp::_["at"] = at == n ? 0.0 : static_cast<double>(at) + 1, Rcpp::_["whole"] = whole);
  });
}

// How many items come before each object, of objects with so many items, and how many there are in all. Integers while
// they can be.
// [[Rcpp::export(rng = false)]]
SEXP r_offsets(SEXP counts, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    const kernweave::Whole whole(counts);
    const kernweave::arrays::Workers workers = kernweave::workers_from_r(threads);
    kernweave::Index total = 0;
    kernweave::with_array(
        whole, [&](auto values) { total = kernweave::arrays::total_of(values, whole.length, workers); });
    const bool small = total <= kernweave::kMostInt;
    const Rcpp::Shield<SEXP> out(Rf_allocVector(small ? INTSXP : REALSXP, static_cast<R_xlen_t>(whole.length) + 1));
    kernweave::with_array(whole, [&](auto values) {
      if (small) kernweave::arrays::write_offsets(values, whole.length, INTEGER(out), workers);
      else kernweave::arrays::write_offsets(values, whole.length, REAL(out), workers);
    });
    return out;
  });
}
