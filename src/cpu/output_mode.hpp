// Output modes: whether an output's values are folded strip by strip, written out, or multiplied by many weights.
#pragma once
#include <vector>
#include "cpu/pass.hpp"
#include "cpu/layout.hpp"
#include "plan/output_groups.hpp"

namespace kernweave {

// Tells whether a tile's values are better multiplied by all weights along the sweep at once.
bool is_multiplied(const Plan& plan, const Variant& variant, const Output& output, bool lanes_along_i);

// Decides the mode of each of the pass' outputs, and their places. Steps that an output's fold takes over are no longer
// `needed`.
void choose_output_modes(const Plan& plan, const Variant& variant, Layout* layout, std::vector<bool>* needed,
                         Pass* pass);

bool is_weighed(const Variant& variant, const Output& output);

// How often each slot will be read, by steps that outputs' folds have taken over, too.
std::vector<int> count_reads(const Variant& variant, const std::vector<bool>& needed, const Pass& pass);

}  // namespace kernweave
