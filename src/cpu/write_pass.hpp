// Steps to instructions, region by region.
#pragma once
#include <vector>
#include "cpu/pass.hpp"
#include "cpu/layout.hpp"
#include "plan/output_groups.hpp"

namespace kernweave {

// Fills in the programs of the pass. `fewest_of_screen`: components of distances that are screened. `fused`: by slot,
// the step that may make its value (fuse_operand.hpp).
void emit(const Plan& plan, const Variant& variant, const OutputGroup& group, const std::vector<bool>& needed,
          const TileKernel& kernel, int fewest_of_screen, const std::vector<int>& fused, Layout* layout, Pass* pass);

}  // namespace kernweave
