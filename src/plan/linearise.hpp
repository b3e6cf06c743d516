// Graph to steps: shared parts once, one slot per step.
#pragma once
#include <vector>
#include "plan/plan.hpp"

namespace kernweave {

struct Line {
  Program program;
  std::vector<Ref> roots;            // where each formula's value is
  std::vector<Variable> variables;   // in the order the program numbers them
  std::vector<bool> direct;
  std::vector<GatherBound> gathers;
};

// The variables of `extents` are numbered and noted, their operations left out.
Line linearise(const std::vector<Expr>& formulas, const std::vector<Expr>& extents);

}  // namespace kernweave
