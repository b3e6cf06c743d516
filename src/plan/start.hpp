// Short sums that start with what is added to them, which spares the addition.
#pragma once
#include <vector>
#include "plan/plan.hpp"

namespace kernweave {

// Sets Step::start of folds whose only reader adds something to them, and orders steps so that it is there in time.
// `roots` are read after the last step.
Program start_folds(Program program, const std::vector<Ref>& roots);

}  // namespace kernweave
