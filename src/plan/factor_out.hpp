// Factors that a sum need not see: what varies along the kept axis alone comes after it.
#pragma once
#include <vector>
#include "plan/outputs.hpp"

namespace kernweave {

// Outputs in two steps. `sums` are what is left to be added up, `after` makes each output of its sum.
struct Pulled {
  bool separable;  // is nothing left that varies along both axes? Then the sums are taken once, not for every point
  std::vector<OutputFormula> sums, after;
};

// False where there is nothing to be gained.
bool pull(const std::vector<OutputFormula>& outputs, Pulled* pulled);

}  // namespace kernweave
