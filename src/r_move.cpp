// R's way to the verbs that move items: vectors of plain bytes, or the places of what moves.
#include "border.hpp"
#include "r_arrays.hpp"
#include "r_resident.hpp"
#include "arrays/move.hpp"

namespace kernweave {
namespace {

int bytes_of_number(SEXP x) {
  switch (TYPEOF(x)) {
    case RAWSXP: return 1;
    case LGLSXP:
    case INTSXP: return 4;
    case REALSXP: return 8;
    case CPLXSXP: return 16;
    default: fail(Fault::internal, "items of R's type ", TYPEOF(x), " are no plain bytes");
  }
}

arrays::Source source_from_r(SEXP x, bool places) {
  return {places ? nullptr : DATAPTR_RO(x), static_cast<Index>(Rf_xlength(x))};
}

// A vector for what moves out of `x`, or for places among so many items.
SEXP vector_for(SEXP x, bool places, Index most, Index length) {
  const SEXPTYPE type = !places ? static_cast<SEXPTYPE>(TYPEOF(x)) : most <= kMostInt ? INTSXP : REALSXP;
  return Rf_allocVector(type, static_cast<R_xlen_t>(length));
}

arrays::Target target_in(SEXP out) { return {numbers_of(out), bytes_of_number(out)}; }

}  // namespace
}  // namespace kernweave

// [[Rcpp::export(rng = false)]]
SEXP r_remove(SEXP x, SEXP at, bool places, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    const kernweave::arrays::Source source = kernweave::source_from_r(x, places);
    const kernweave::arrays::Whole gone = kernweave::whole_from_r(at);
    const Rcpp::Shield<SEXP> out(kernweave::vector_for(x, places, source.count, source.count - gone.count));
    kernweave::arrays::remove_items(source, gone, kernweave::workers_from_r(threads), kernweave::target_in(out));
    return out;
  });
}

// [[Rcpp::export(rng = false)]]
SEXP r_insert(SEXP x, SEXP values, SEXP after, bool places, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    const kernweave::arrays::Source old = kernweave::source_from_r(x, places),
                                    fresh = kernweave::source_from_r(values, places);
    const kernweave::Index all = old.count + fresh.count;
    const Rcpp::Shield<SEXP> out(kernweave::vector_for(x, places, all, all));
    kernweave::arrays::insert_items(old, fresh, kernweave::whole_from_r(after), kernweave::workers_from_r(threads),
                                    kernweave::target_in(out));
    return out;
  });
}

// [[Rcpp::export(rng = false)]]
SEXP r_expand(SEXP x, SEXP offsets, bool places, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    const kernweave::arrays::Source source = kernweave::source_from_r(x, places);
    const kernweave::arrays::Whole whole = kernweave::whole_from_r(offsets);
    const Rcpp::Shield<SEXP> out(kernweave::vector_for(x, places, source.count, whole[whole.count - 1]));
    kernweave::arrays::expand_items(source, whole, kernweave::workers_from_r(threads), kernweave::target_in(out));
    return out;
  });
}

// [[Rcpp::export(rng = false)]]
SEXP r_ranks(SEXP offsets, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    const kernweave::arrays::Whole whole = kernweave::whole_from_r(offsets);
    const kernweave::Index items = whole[whole.count - 1];
    const kernweave::arrays::Workers workers = kernweave::workers_from_r(threads);
    const Rcpp::Shield<SEXP> out(kernweave::vector_for(R_NilValue, true, items, items));
    if (TYPEOF(out) == INTSXP) kernweave::arrays::ranks_of(whole, workers, INTEGER(out));
    else kernweave::arrays::ranks_of(whole, workers, REAL(out));
    return out;
  });
}

// Into a copy of `into`, or where that is NULL into a vector of as many items as there are to move. With `places`, `x`
// tells how many items there are, and what is made are the places they come from.
// [[Rcpp::export(rng = false)]]
SEXP r_move(SEXP x, SEXP from, SEXP to, SEXP offsets, SEXP into, bool places, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    const kernweave::arrays::Source source = kernweave::source_from_r(x, places);
    const kernweave::arrays::Intervals intervals{kernweave::whole_from_r(from), kernweave::whole_from_r(to),
                                                 kernweave::whole_from_r(offsets)};
    const kernweave::Index items = intervals.offsets[intervals.offsets.count - 1];
    const Rcpp::Shield<SEXP> out(Rf_isNull(into) ? kernweave::vector_for(x, places, source.count, items)
                                                 : Rf_duplicate(into));
    kernweave::arrays::move_items(source, intervals, kernweave::workers_from_r(threads), kernweave::target_in(out));
    return out;
  });
}
