// Puts every step where it runs least often. Hoisting is nothing but this.
#pragma once
#include <vector>
#include "plan/plan.hpp"

namespace kernweave {

Region region_of(Axes axes);

// Returns the region in which a value varies: data vary along their axis; numbers are in `param`.
Region region_read(const Ref& ref, const Plan& plan, const Program& program);

// Finds the component groups and sorts the steps by region. `roots` stay readable after the last step.
Program in_regions(Program program, const std::vector<Ref>& roots);

}  // namespace kernweave
