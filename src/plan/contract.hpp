// The contracted form of a plan: squared distances in exponents become inner products.
#pragma once
#include <vector>
#include "plan/outputs.hpp"

namespace kernweave {

// Replaces |x - y|^2 by |x|^2 + |y|^2 - 2 <x, y> wherever an absolute error in the distance is a relative error of a
// term: in exponents. False where no distance stands in an exponent, or a distance stands elsewhere too.
bool contract(const Precision& precision, std::vector<OutputFormula>* outputs, std::vector<ConditionGuard>* guards);

// Replaces distances of few components too, which is less work only where a sum may begin with the squares.
bool expand(const Precision& precision, std::vector<OutputFormula>* outputs, std::vector<ConditionGuard>* guards);

}  // namespace kernweave
