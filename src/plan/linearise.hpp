// Graph to steps: shared parts once, one slot per step.
#pragma once
#include <vector>
#include "plan/plan.hpp"

namespace kernweave {

struct Line {
  Program program;
  std::vector<Ref> roots;  // where each formula's value is
};

// Several programs on the same variables.
struct Lines {
  std::vector<Line> lines;
  std::vector<Variable> variables;  // in the order the programs number them
  std::vector<bool> direct;
  std::vector<GatherBound> gathers;
};

// One line for each list of formulas. The variables of `extents` are numbered and noted, their operations left out.
Lines linearise(const std::vector<std::vector<Expr>>& programs, const std::vector<Expr>& extents);

}  // namespace kernweave
