// Defines the planner's job.
#pragma once
#include <string>
#include <vector>
#include "plan/outputs.hpp"
#include "plan/plan.hpp"

namespace kernweave {

struct Job {
  std::vector<OutputFormula> outputs;
  std::vector<Expr> extents;  // formulas not computed whose variables say how many i and j there are
  Precision precision;
  Pairs pairs = Pairs::all;
  Expr allowed{};       // of restricted pairs: true where a pair exists; null where no formula says so
  bool rewrite = true;  // false: as written, for the oracle
  bool checks = false;  // verify the graph and the plan between stages
};

// All that a plan depends on: jobs with the same key have the same plan, names in messages included.
std::string job_key(const Job& job);

}  // namespace kernweave
