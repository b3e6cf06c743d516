// Which steps of a region may wait until their value is asked for: those that only one step reads, a step that can make
// the value as it takes it.
#pragma once
#include <vector>
#include "plan/plan.hpp"

namespace kernweave {

struct Fusible {
  bool may = false;
  int until = -1;      // the number of the step that reads it
  bool lasts[2] = {};  // is the argument in memory until then, whoever else asks for it in between?
};

// By slot, of the needed steps of a region. `reads`: how often each is read, by these steps and by others.
std::vector<Fusible> fusible_steps(const Program& program, Region region, const std::vector<bool>& needed,
                                   const std::vector<int>& reads);

}  // namespace kernweave
