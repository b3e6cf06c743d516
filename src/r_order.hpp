// Columns of R as keys of an order.
#pragma once
#include "arrays/keys.hpp"
#include "border.hpp"
#include "r_arrays.hpp"

namespace kernweave {

// A logical, integer or double vector, or an integer64 of bit64, where it lies.
arrays::KeyColumn key_column(SEXP x);

arrays::Keys keys_from_r(const Rcpp::List& columns, const Rcpp::LogicalVector& decreasing, bool nan_apart,
                         const arrays::Workers& workers);

}  // namespace kernweave
