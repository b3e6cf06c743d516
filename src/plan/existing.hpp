// Outputs over pairs of which a formula says which exist.
#pragma once
#include <vector>
#include "plan/outputs.hpp"

namespace kernweave {

// What a term must be to say nothing to a reduction.
double neutral_value(Red red);

// The same, with terms that say nothing where `allowed` is false.
std::vector<OutputFormula> where_allowed(const std::vector<OutputFormula>& outputs, Expr allowed);

}  // namespace kernweave
