// Entries, and preconditioners behind pointers, for the files of the border that call solvers.
#pragma once
#include "r_operator.hpp"
#include "solve/operator.hpp"
#include "solve/preconditioner.hpp"

namespace kernweave {

void poll_r(double);

solve::Entries entries_from_r(const Rcpp::List& from);
solve::RowIndices landmarks_from_r(const Rcpp::List& description);
solve::ConditioningSets neighbours_from_r(const Rcpp::List& description);
// Returns the device that is the home of products with the columns at the landmarks.
device::Device* home_from_r(const Rcpp::List& description);

// Puts a preconditioner behind a pointer. Its description goes with the pointer, but into no file.
SEXP preconditioner_to_r(solve::PreconditionerPointer made, const Rcpp::List& description);
Rcpp::List description_behind(SEXP pointer);

// Ready for a call: its products read the data as they lie now. Null for R's NULL.
solve::Preconditioner* preconditioner_behind(SEXP pointer);

}  // namespace kernweave
