// Verbs that move items of plain vectors, or return the places of the items instead; and slices.
#include "arrays/dcov.hpp"
#include "arrays/slices.hpp"
#include "r_arrays.hpp"

namespace kernweave {
namespace {

// Returns the type of the items that move out of `x`, or of their places.
SEXPTYPE type_of(SEXP x, bool places) {
  return !places ? static_cast<SEXPTYPE>(TYPEOF(x)) : Rf_xlength(x) <= kMostInt ? INTSXP : REALSXP;
}

// Works where the items lie; places are computed on the CPU.
SEXP moved(SEXP x, bool places, int threads, const std::function<void(Call&)>& work) {
  return carried_out(places ? std::vector<SEXP>() : std::vector<SEXP>{x}, threads, work);
}

// Returns places from 1 to `most` in ascending order, each once.
RObject rising(SEXP at, Index most, int threads) {
  if (first_unsorted(at, true, threads) == 0) return at;
  return carried_out({at}, threads, [&](Call& here) { here.verbs().rising(here.column(at), most, here); });
}

}  // namespace

// Removes the items of `x` at some places, from 1; with `places`, returns the places of the items that stay.
// [[Rcpp::export(rng = false)]]
SEXP r_remove(SEXP x, SEXP at, bool places, int threads) {
  const RObject gone = rising(at, Rf_xlength(x), threads);
  return moved(x, places, threads, [&](Call& here) {
    const Whole list = here.column(gone);
    here.verbs().remove(here.moved(x, places, type_of(x, places), Rf_xlength(x) - list.count), list);
  });
}

// Inserts values after some items. With `places`, returns numbers instead; numbers of values follow those of items.
// [[Rcpp::export(rng = false)]]
SEXP r_insert(SEXP x, SEXP values, SEXP after, bool places, int threads) {
  RObject fresh = values, at = after;
  if (first_unsorted(after, false, threads) > 0) {
    const RObject order = r_order(List::create(after), LogicalVector::create(false), R_NilValue, 0, threads);
    fresh = r_take(values, order);
    at = r_take(after, order);
  }
  return moved(x, places, threads, [&](Call& here) {
    const Whole list = here.column(at);
    const void* const first = here.first(fresh);
    const auto type = static_cast<SEXPTYPE>(TYPEOF(values));
    here.verbs().insert(here.moved(x, places, type, Rf_xlength(x) + list.count), first, list);
  });
}

// Repeats each item as often as offsets tell, `total` times in all.
// [[Rcpp::export(rng = false)]]
SEXP r_expand(SEXP x, SEXP offsets, double total, bool places, int threads) {
  const auto n = static_cast<Index>(total);
  return moved(x, places, threads, [&](Call& here) {
    const Whole list = here.column(offsets);
    here.verbs().expand(here.moved(x, places, type_of(x, places), n), list, n);
  });
}

// Finds for each of `total` items the object that the item belongs to, and the item's rank there.
// [[Rcpp::export(rng = false)]]
SEXP r_walk(SEXP offsets, double total, int threads) {
  const auto n = static_cast<Index>(total);
  return carried_out({offsets}, threads, [&](Call& here) {
    const Whole list = here.column(offsets);
    const Numbers objects = here.numbers("object", list.count - 1, n), ranks = here.numbers("rank", n, n);
    here.verbs().walk(list, n, objects, ranks);
  });
}

// Moves items into a copy of `into` or, if `into` is NULL, into a vector of `total` items. With `places`, `x` tells how
// many items there are, and the result has the places from which they come. `made`: `into` is not the user's, so that
// it lies nowhere in particular.
// [[Rcpp::export(rng = false)]]
SEXP r_move(SEXP x, SEXP from, SEXP to, SEXP offsets, double total, SEXP into, bool made, bool places, int threads) {
  std::vector<SEXP> arrays;
  if (!places) arrays.push_back(x);
  if (!made && !Rf_isNull(into)) arrays.push_back(into);
  return carried_out(arrays, threads, [&](Call& here) {
    const arrays::Intervals intervals{here.column(from), here.column(to), here.column(offsets)};
    const SEXPTYPE type = type_of(x, places);
    void* const target = Rf_isNull(into) ? here.room(nullptr, type, static_cast<Index>(total))
                                         : here.copy_of(nullptr, into, type, false);
    here.verbs().move(here.moved_to(x, places, target), intervals, static_cast<Index>(total));
  });
}

// --- slices: points and directions as matrices, labellings as raw vectors -------------------------------------------

// `distances`: an array of group by group by direction; `numbers`: a mean over directions for each labelling.
// [[Rcpp::export(rng = false)]]
List r_compare_slices(NumericMatrix points, NumericMatrix directions, IntegerVector groups, NumericVector sizes,
                      List bytes, NumericVector shares, NumericMatrix factor, int threads) {
  arrays::Labellings labellings{{}, {shares.begin(), shares.end()}, factor.begin()};
  for (R_xlen_t k = 0; k < bytes.size(); ++k) labellings.bytes.push_back(RAW_RO(bytes[k]));
  const arrays::Slices slices{points.begin(),     points.nrow(),     points.ncol(),
                              directions.begin(), directions.ncol(), workers_from_r(threads)};
  const arrays::RowGroups row_groups{groups.begin(), {sizes.begin(), sizes.end()}};
  NumericVector distances(Rcpp::Dimension(sizes.size(), sizes.size(), directions.ncol()));
  NumericVector numbers(8 * labellings.eights());
  arrays::compare_slices(slices, row_groups, labellings, distances.begin(), numbers.begin());
  for (double& number : numbers) number /= directions.ncol();
  return List::create(_["distances"] = distances, _["numbers"] = numbers);
}

// `orders`: a matrix with an order of the rows of y in each column.
// [[Rcpp::export(rng = false)]]
List r_distance_sums(NumericVector x, NumericVector y, Rcpp::IntegerMatrix orders, int threads) {
  NumericVector rows_x(x.size()), rows_y(x.size()), numbers(orders.ncol());
  const arrays::TwoLines lines{x.begin(), y.begin(), x.size(), orders.begin(), orders.ncol(), workers_from_r(threads)};
  const arrays::DistanceSums sums = arrays::distance_sums(lines, rows_x.begin(), rows_y.begin(), numbers.begin());
  return List::create(_["raw"] = NumericVector(sums.raw, sums.raw + 3),
                      _["centred"] = NumericVector(sums.centred, sums.centred + 3), _["rows_x"] = rows_x,
                      _["rows_y"] = rows_y, _["numbers"] = numbers);
}

}  // namespace kernweave
