// Operators as R describes them: nested lists of (kind, ...), plain data but for the plans of lazy tensors.
#pragma once
#include "border.hpp"
#include "solve/operator.hpp"

namespace kernweave {

// Makes the operator of a description. The data of the description must outlive the operator.
solve::OperatorPointer operator_from_r(const Rcpp::List& description, const solve::Poll& poll);
// Returns the most threads of a description's lazy tensors.
int threads_of(const Rcpp::List& description);

solve::Block block_from_r(const Rcpp::NumericMatrix& matrix);
Rcpp::NumericMatrix block_to_r(const solve::Block& block);
// The numbers of a matrix on a device, where they may lie already; null: on the host.
solve::Columns columns_from_r(SEXP matrix, device::Device* home);
// A matrix whose numbers stay where they are, be it on a device.
Rcpp::RObject columns_to_r(solve::Columns columns);
solve::Vector vector_from_r(const Rcpp::NumericVector& vector);
Rcpp::NumericVector vector_to_r(const solve::Vector& vector);

}  // namespace kernweave
