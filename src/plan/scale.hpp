// The scaled form of a plan: what a distance in an exponent is multiplied by goes into the points.
#pragma once
#include <vector>
#include "plan/outputs.hpp"

namespace kernweave {

// Replaces 2^(-c |x - y|^2) by 2^-|s x - s y|^2, s = sqrt(c), and 2^(-c |x - y|) likewise, wherever nothing else reads
// the distance: a product a pair less, and an exponent that cannot be positive. False where there is no such power.
bool scale_points(const Precision& precision, std::vector<OutputFormula>* outputs, std::vector<ConditionGuard>* guards);

}  // namespace kernweave
