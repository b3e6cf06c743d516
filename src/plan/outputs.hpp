// Outputs while they are still formulas.
#pragma once
#include <vector>
#include "expr/node.hpp"
#include "plan/plan.hpp"

namespace kernweave {

// A null weight is the number 1.
struct OutputFormula {
  Red red;
  Expr value;
  Expr weight;
  Keep keep;
  int places;
  Finish finish{};
};

// A requirement of plan.hpp, still as formulas: it must hold for a form of the outputs to be chosen.
struct ConditionGuard {
  Expr x, y;  // the variables
  Expr factor;
  double least, most;
};

// Lists for each output the weight, if it has a weight, then the value, so that the value has just been computed.
inline std::vector<Expr> formulas_of(const std::vector<OutputFormula>& outputs) {
  std::vector<Expr> out;
  for (const OutputFormula& o : outputs) {
    if (o.weight) out.push_back(o.weight);
    out.push_back(o.value);
  }
  return out;
}

// Puts formulas, listed as by formulas_of(), back in their places after a pass.
inline void put_formulas(const std::vector<Expr>& formulas, std::vector<OutputFormula>* outputs) {
  std::size_t next = 0;
  for (OutputFormula& o : *outputs) {
    if (o.weight) o.weight = formulas[next++];
    o.value = formulas[next++];
  }
}

}  // namespace kernweave
