// A plan as text, all of it: for whoever compares plans.
#pragma once
#include <string>
#include "plan/plan.hpp"

namespace kernweave {

// Variables, then each variant's numbers, steps and outputs, a line each, and the plans it has in place of one.
// Operands are told apart by their place in the plan, so that equal plans have equal texts.
std::string show(const Plan& plan);

}  // namespace kernweave
