// Checks that a plan is as a back end may rely on.
#pragma once
#include "plan/plan.hpp"

namespace kernweave {

// An internal failure, naming the step, if a step reads what is not there or not its to read.
void check_plan(const Plan& plan);

}  // namespace kernweave
