// What a pair costs.
#pragma once
#include "plan/plan.hpp"

namespace kernweave {

// Instructions per pair, about; a reduction's term takes one or two.
double work_per_pair(const Variant& variant);

}  // namespace kernweave
