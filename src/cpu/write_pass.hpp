// Steps to instructions, region by region; how values leave a pass; instructions as text.
#pragma once
#include <string>
#include <vector>
#include "cpu/layout.hpp"
#include "cpu/pass.hpp"
#include "plan/output_groups.hpp"
#include "plan/plan.hpp"

namespace kernweave {

// Fills in the programs of the pass. `fewest_of_screen`: components of distances that are screened. `fused`: by slot,
// the step that may make its value (fuse_operand.cpp).
void emit(const Plan& plan, const Variant& variant, const OutputGroup& group, const std::vector<bool>& needed,
          const TileKernel& kernel, int fewest_of_screen, const std::vector<int>& fused, Layout* layout, Pass* pass);

// --- output mode ---------------------------------------------------------------------------------------------------
// Output modes: whether an output's values are folded strip by strip, written out, or multiplied by many weights.

// Tells whether a tile's values are better multiplied by all weights along the sweep at once.
bool is_multiplied(const Plan& plan, const Variant& variant, const Output& output, bool lanes_along_i);

// Decides the mode of each of the pass' outputs, and their places. Steps that an output's fold takes over are no longer
// `needed`.
void choose_output_modes(const Plan& plan, const Variant& variant, Layout* layout, std::vector<bool>* needed,
                         Pass* pass);

bool is_weighed(const Variant& variant, const Output& output);

// How often each slot will be read, by steps that outputs' folds have taken over, too.
std::vector<int> count_reads(const Variant& variant, const std::vector<bool>& needed, const Pass& pass);

// --- fuse_operand.cpp ----------------------------------------------------------------------------------------------
// The steps of a pass that may wait for their reader: sums and products with a single reader, which can compute the
// value when it takes the value.

// Returns for each slot the step that may compute its value, or -1. `reads`: the reads of each slot.
std::vector<int> fused_into(const Program& program, const std::vector<bool>& needed, const std::vector<int>& reads);

// Returns for each slot the step up to which a waiting step needs the slot in memory.
std::vector<int> read_until(const Program& program, const std::vector<int>& fused);

// --- show.cpp ------------------------------------------------------------------------------------------------------
// A pass's instructions as text: for whoever compares them.

// Each instruction of each program, a line. No addresses: equal passes have equal texts.
std::string show(const Pass& pass, const TileKernel& kernel);

}  // namespace kernweave
