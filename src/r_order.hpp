// Columns of R as keys of an order; orders, and items by them.
#pragma once
#include "arrays/buffer.hpp"
#include "arrays/keys.hpp"
#include "border.hpp"
#include "r_arrays.hpp"

namespace kernweave {

// A vector of R that will be written to from end to end.
template <class Vector>
Vector fresh_vector(Index length) {
  Vector made = Rcpp::no_init(length);
  arrays::want_large_pages(made.begin(), static_cast<std::size_t>(length) * sizeof(*made.begin()));
  return made;
}

// A logical, integer or double vector, or an integer64 of bit64, where it lies.
arrays::KeyColumn key_column(SEXP x);

arrays::Keys keys_from_r(const Rcpp::List& columns, const Rcpp::LogicalVector& decreasing, bool nan_apart,
                         const arrays::Workers& workers);

// Returns the order by `columns`, as numbers from 1.
Rcpp::RObject order_here(const Rcpp::List& columns, bool decreasing, const arrays::Workers& workers);

// Items of plain numbers by an order, without attributes but the class of integer64.
SEXP taken_here(SEXP x, SEXP order);

}  // namespace kernweave
