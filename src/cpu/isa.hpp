// The instruction sets of this build that this machine has.
#pragma once
#include <string>
#include <vector>
#include "cpu/kernels.hpp"

namespace kernweave {

struct InstructionSet {
  std::string name;
  TileKernel float32, float64;
};

// Best first; never empty.
const std::vector<InstructionSet>& instruction_sets();

// The one in use: the best, until another is asked for by name.
const InstructionSet& instruction_set();
// "" for the best. A user failure if this machine or this build has none of that name.
void use_instruction_set(const std::string& name);

}  // namespace kernweave
