// A pass's steps as instructions for the interpreter (kernweave/gpu/interpreter.hpp).
#pragma once
#include <vector>
#include "cuda/pass.hpp"
#include "kernweave/gpu/script.hpp"

namespace kernweave {
namespace cuda {

// Writes the instructions of a region outside of the pairs, which fill its panel. Attributes go to `lists`.
void instruct_points(const Pass& pass, Region region, const Panel& panel, std::vector<gpu::Instruction>* out,
                     std::vector<int>* lists);

// Writes the instructions of the pairs, with a term for each output, whose states are still to be placed. Columns are
// read from tiles, and strips are full. Returns how many numbers of its own a thread has for each column.
int instruct_pairs(const Pass& pass, std::vector<gpu::Instruction>* out, std::vector<int>* lists);

}  // namespace cuda
}  // namespace kernweave
