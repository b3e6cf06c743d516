// Formulas to plan: the list of passes.
#pragma once
#include "base/trace.hpp"
#include "plan/job.hpp"
#include "plan/plan.hpp"

namespace kernweave {

// `trace`, where given, records every pass for explain().
Plan lower(const Job& job, Trace* trace = nullptr);

}  // namespace kernweave
