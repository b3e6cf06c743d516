// Formulas to plan: the list of passes.
#pragma once
#include "base/trace.hpp"
#include "plan/outputs.hpp"
#include "plan/plan.hpp"

namespace kernweave {

struct Job {
  std::vector<OutputFormula> outputs;
  std::vector<Expr> extents;  // formulas not computed whose variables say how many i and j there are
  Precision precision;
  Pairs pairs = Pairs::all;
  bool rewrite = true;  // false: as written, for the oracle
  bool checks = false;  // verify the graph and the plan between stages
};

// `trace`, where given, records every pass for explain().
Plan lower(const Job& job, Trace* trace = nullptr);

}  // namespace kernweave
