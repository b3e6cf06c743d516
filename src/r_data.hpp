// Data and sizes as R hands them over. Copies no data.
#pragma once
#include "border.hpp"
#include <vector>
#include "execute/run.hpp"

namespace kernweave {

// The inputs of a call: data in the order of the plan's operands, and the operands, which keep copies of their own
// data.
struct Given {
  Rcpp::List data, operands;
};
std::vector<OperandData> operands_of(const Given& given);

// Points along i and along j, NA where the formula does not know; which pairs there are, NULL for all.
Known known_from_r(const Rcpp::NumericVector& extents, SEXP pairs);

// The options of a call, as R has checked them: device, threads, gpu_mb.
Settings settings_from_r(const Rcpp::List& options);

// Names of the points along i and j, from the first operand there that has some; NULL where none has.
struct PointNames {
  Rcpp::RObject i, j;
};
PointNames names_of(const Plan& plan, const Given& given);

}  // namespace kernweave
