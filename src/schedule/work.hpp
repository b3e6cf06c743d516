// The work of a pair, and the bytes that a call sends to a device and back.
#pragma once
#include "schedule/schedule.hpp"

namespace kernweave {

// Instructions of a pair, about; a reduction's term takes one or two.
double work_per_pair(const Variant& variant);

// Bytes of a call's data and results, on their way to the GPU and back.
double transfer_seconds(const Plan& plan, const Variant& variant, const Sizes& sizes);

}  // namespace kernweave
