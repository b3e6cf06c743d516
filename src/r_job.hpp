// Jobs as R hands them over.
#pragma once
#include "border.hpp"
#include "plan/lower.hpp"
#include "r_formula.hpp"

namespace kernweave {

// outputs: a list of list(value, weight, op, keep, K); options: list(precision, rewrite, checks, pairs)
Job job_from_r(const Rcpp::List& outputs, const Rcpp::List& extents, const Rcpp::List& options, Formulas* formulas);

}  // namespace kernweave
