// Which steps of a pass may wait until their value is asked for: sums and products that only one step reads, a step
// that can make the value as it takes it.
#pragma once
#include <vector>
#include "plan/plan.hpp"

namespace kernweave {

// By slot: the step that may make its value, -1 where none may. `reads`: how often each is read.
std::vector<int> fused_into(const Program& program, const std::vector<bool>& needed, const std::vector<int>& reads);

// By slot: the step up to which such a step's arguments have to stay in memory.
std::vector<int> read_until(const Program& program, const std::vector<int>& fused);

}  // namespace kernweave
