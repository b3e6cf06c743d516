// Lifetimes to places: values that are never alive together share memory.
#pragma once
#include <vector>
#include "plan/plan.hpp"

namespace kernweave {

// Sets every slot's offset and each region's memory. `roots` live to the end.
Program assign_slots(Program program, const std::vector<Ref>& roots);

}  // namespace kernweave
