// Runs plans on R's data.
#pragma once
#include <Rcpp.h>
#include <string>
#include "r_job.hpp"
#include "r_plans.hpp"
#include "schedule/schedule.hpp"

namespace kernweave {

// One array, or list of value and index, for each output.
Rcpp::List run_plan(Prepared* prepared, const Given& given, const Rcpp::NumericVector& extents,
                    const std::string& device, int threads);

// What run_plan() would do; `ran` is the plan whose steps run for the pairs.
Schedule schedule_of(const Plan& plan, const Given& given, const Rcpp::NumericVector& extents,
                     const std::string& device, const Plan** ran, double* working_bytes);

}  // namespace kernweave
