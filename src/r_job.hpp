// Jobs, data and sizes as R hands them over.
#pragma once
#include <Rcpp.h>
#include <string>
#include <vector>
#include "plan/lower.hpp"
#include "r_formula.hpp"
#include "schedule/facts.hpp"
#include "schedule/schedule.hpp"

namespace kernweave {

// outputs: a list of list(value, weight, op, keep, K); options: list(precision, rewrite, checks, pairs)
Job job_from_r(const Rcpp::List& outputs, const Rcpp::List& extents, const Rcpp::List& options, Formulas* formulas);

// What a call computes with: data in the order of the plan's operands, and the operands themselves, which keep copies
// of the data that are their own.
struct Given {
  Rcpp::List data, operands;
};

// The data of the plan's variables, where R holds them.
std::vector<View> views_of(const Plan& plan, const Given& given);

// How many i and j there are: what R knows, and the variables read along their own axis. They must agree.
Sizes sizes_of(const Plan& plan, const std::vector<View>& views, const Rcpp::NumericVector& known);

// What is taken off the data of each variable that is read relative to a centre.
std::vector<std::vector<double>> centres_for(const Plan& plan, const std::vector<View>& views);

// What the schedule wants to know of the data.
Findings findings_for(const Plan& plan, const Sizes& sizes, const std::vector<View>& views, const std::vector<std::vector<double>>& centres);

}  // namespace kernweave
