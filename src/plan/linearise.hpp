// Graph to steps: shared parts once, one slot per step.
#pragma once
#include <vector>
#include "plan/plan.hpp"

namespace kernweave {

struct LinearProgram {
  Program program;
  std::vector<Ref> roots;  // where each formula's value is
};

// Several programs on the same variables.
struct LinearPrograms {
  std::vector<LinearProgram> lines;
  std::vector<Variable> variables;  // in the order the programs number them
  std::vector<bool> direct;
  std::vector<GatherBound> gathers;
};

// One line for each list of formulas. The variables of `extents` are numbered and noted, their operations left out.
LinearPrograms linearise(const std::vector<std::vector<Expr>>& programs, const std::vector<Expr>& extents);

}  // namespace kernweave
