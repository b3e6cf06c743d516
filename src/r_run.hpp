// Runs plans on R's data.
#pragma once
#include <Rcpp.h>
#include <map>
#include <memory>
#include <string>
#include "plan/plan.hpp"
#include "r_job.hpp"
#include "schedule/backend.hpp"

namespace kernweave {

// A plan that is run again and again, and what back ends remember of it and of its steps.
struct Prepared {
  const Plan plan;
  std::map<std::pair<const Plan*, const Backend*>, std::unique_ptr<Memo>> memos;
};

// One array, or list of value and index, for each output.
Rcpp::List run_plan(Prepared* prepared, const Given& given, const Rcpp::NumericVector& extents, const std::string& device, int threads);

// What run_plan() would do; `ran` is the plan whose steps run for the pairs.
Schedule schedule_of(const Plan& plan, const Given& given, const Rcpp::NumericVector& extents, const std::string& device, const Plan** ran,
                     double* working_bytes);

}  // namespace kernweave
