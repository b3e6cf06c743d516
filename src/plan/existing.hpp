// Outputs over pairs of which a formula says which exist.
#pragma once
#include <vector>
#include "plan/outputs.hpp"

namespace kernweave {

// Returns the neutral element of a reduction: a term with this value says nothing.
double neutral_value(Red red);

// Returns the outputs with neutral terms where `allowed` is false.
std::vector<OutputFormula> where_allowed(const std::vector<OutputFormula>& outputs, Expr allowed);

}  // namespace kernweave
