// Runs plans on R's data.
#pragma once
#include <Rcpp.h>
#include <string>
#include "plan/plan.hpp"
#include "r_job.hpp"
#include "schedule/schedule.hpp"

namespace kernweave {

// One array, or list of value and index, for each output.
Rcpp::List run_plan(const Plan& plan, const Given& given, const Rcpp::NumericVector& extents, const std::string& device, int threads);

// What run_plan() would do; `ran` is the plan whose steps run for the pairs.
Schedule schedule_of(const Plan& plan, const Given& given, const Rcpp::NumericVector& extents, const std::string& device, const Plan** ran);

}  // namespace kernweave
