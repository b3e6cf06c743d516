// Jobs, data and sizes as R hands them over.
#pragma once
#include <Rcpp.h>
#include <string>
#include <vector>
#include "plan/job.hpp"
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

// The data of the plan's variables. What lies on a device stays there until it is asked for on the host.
class Views {
 public:
  Views(const Plan& plan, const Given& given);

  const std::vector<View>& all() const { return views_; }
  const View& on_host(std::size_t k);
  void all_on_host();
  // Where the plan reads the results of another.
  void put(std::size_t k, const View& view) { views_[k] = view; }
  // Do all data of points lie on a device because the user put them there?
  bool resident() const;

 private:
  const Plan& plan_;
  const Given& given_;
  std::vector<View> views_;
};

// Names of the points along i and j, from the first operand there that has some; NULL where none has.
struct PointNames {
  Rcpp::RObject i, j;
};
PointNames names_of(const Plan& plan, const Given& given);

// How many i and j there are: what R knows, and the variables read along their own axis. They must agree.
Sizes sizes_of(const Plan& plan, const std::vector<View>& views, const Rcpp::NumericVector& known);

// What is taken off the data of each variable that is read relative to a centre.
std::vector<std::vector<double>> centres_for(const Plan& plan, Views* views);

// What the schedule wants to know of the data.
Findings findings_for(const Plan& plan, const Sizes& sizes, const std::vector<std::vector<double>>& centres,
                      Views* views);

}  // namespace kernweave
