// Two sorted vectors of R as lists of one type, and room for items of it.
#pragma once
#include "arrays/sorted.hpp"
#include "r_order.hpp"

namespace kernweave {

// work(items) with the numbers of a vector of R: logicals and integers, doubles, integer64.
template <class Work>
auto with_items(SEXP x, Work work) {
  if (TYPEOF(x) != REALSXP) return work(static_cast<const std::int32_t*>(DATAPTR_RO(x)));
  if (Rf_inherits(x, "integer64")) return work(static_cast<const std::int64_t*>(DATAPTR_RO(x)));
  return work(static_cast<const double*>(DATAPTR_RO(x)));
}

// work(a, b) with two of the same type, sorted.
template <class Work>
auto with_sorted(SEXP x, SEXP y, Work work) {
  return with_items(x, [&](auto a) {
    const auto b = static_cast<decltype(a)>(DATAPTR_RO(y));
    return work(arrays::Sorted(a, Rf_xlength(x)), arrays::Sorted(b, Rf_xlength(y)));
  });
}

// Room for items of a type; logicals stay logicals where both lists have them.
template <class Item>
Item* new_items(SEXP x, SEXP y, Index length, Rcpp::RObject* made) {
  if (TYPEOF(x) == REALSXP) *made = fresh_vector<Rcpp::NumericVector>(length);
  else if (TYPEOF(x) == LGLSXP && TYPEOF(y) == LGLSXP) *made = fresh_vector<Rcpp::LogicalVector>(length);
  else *made = fresh_vector<Rcpp::IntegerVector>(length);
  return static_cast<Item*>(const_cast<void*>(DATAPTR_RO(*made)));
}

// Tells whether the last item of a sorted list on a device is missing.
class OnDevice;
bool ends_missing_on_gpu(OnDevice& here, const arrays::Whole& list);

}  // namespace kernweave
