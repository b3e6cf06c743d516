// What a pair costs, and what a call sends about.
#pragma once
#include "schedule/schedule.hpp"

namespace kernweave {

// Instructions per pair, about; a reduction's term takes one or two.
double work_per_pair(const Variant& variant);

// To bring data and results of a call to the GPU or back.
double transfer_seconds(const Plan& plan, const Variant& variant, const Sizes& sizes);

}  // namespace kernweave
