// Orders and sorted numbers; plans of segments: groups by keys.
#include "r_arrays.hpp"

namespace kernweave {

// Finds the order, as numbers from 1, of items, or within each segment of a plan, whose items come in its order.
// Columns are logical, integer or double vectors, or an integer64 of bit64.
// [[Rcpp::export(rng = false)]]
SEXP r_order(List columns, LogicalVector decreasing, SEXP segments, double nearly, int threads) {
  const std::vector<SEXP> keys(columns.begin(), columns.end());
  const auto order = [&](Call& here) {
    arrays::OrderOf task;
    task.nearly = static_cast<Index>(nearly);
    for (std::size_t c = 0; c < keys.size(); ++c) {
      task.columns.push_back(here.column(keys[c]));
      task.decreasing.push_back(decreasing[static_cast<R_xlen_t>(c) % decreasing.size()]);
    }
    if (!Rf_isNull(segments)) task.offsets = here.offsets_of(segments);
    here.verbs().order(task, here);
  };
  return carried_out(keys, threads, order, kMostInt * static_cast<Index>(keys.size()));
}

// Takes items of a vector of numbers by an order from 1; the class integer64 is the only attribute that stays.
// [[Rcpp::export(rng = false)]]
SEXP r_take(SEXP x, SEXP order) {
  const RObject out = carried_out({x}, 1, [&](Call& here) {
    const Whole rows = here.column(order);
    here.verbs().take(here.moved(x, false, static_cast<SEXPTYPE>(TYPEOF(x)), rows.count), rows);
  });
  if (Rf_inherits(x, "integer64")) Rf_setAttrib(out, R_ClassSymbol, Rf_mkString("integer64"));
  return out;
}

// Sorts a vector that has numbers only.
// [[Rcpp::export(rng = false)]]
SEXP r_sort(SEXP x, bool decreasing, double nearly, int threads) {
  return carried_out({x}, threads, [&](Call& here) {
    here.verbs().sort({{here.column(x)}, {decreasing}, {}, static_cast<Index>(nearly)}, here);
  });
}

// Finds groups of equal keys, smallest first and missing last. Returns keys, or an item of each group; offsets; each
// item's group number, unless items lie in order; and the order if it is known.
// [[Rcpp::export(rng = false)]]
SEXP r_group(SEXP by, int threads) {
  return carried_out({by}, threads, [&](Call& here) { here.verbs().groups(here.column(by), here); });
}

// Returns the numbers of a plan's items, segment after segment, in the place of the array with which they will be used;
// NULL if items lie in this order.
// [[Rcpp::export(rng = false)]]
SEXP r_segment_order(SEXP plan, SEXP like, int threads) {
  return carried_out({like}, threads, [&](Call& here) {
    here.tell(nullptr, here.lent(plan, "order", here.order_of(plan)));
  });
}

}  // namespace kernweave
