// The steps of a pass that may wait for their reader: sums and products with a single reader, which can compute the
// value when it takes the value.
#pragma once
#include <vector>
#include "plan/plan.hpp"

namespace kernweave {

// Returns for each slot the step that may compute its value, or -1. `reads`: the reads of each slot.
std::vector<int> fused_into(const Program& program, const std::vector<bool>& needed, const std::vector<int>& reads);

// Returns for each slot the step up to which a waiting step needs the slot in memory.
std::vector<int> read_until(const Program& program, const std::vector<int>& fused);

}  // namespace kernweave
