// The instruction sets of this build that this machine has, by name.
#pragma once
#include <string>
#include <vector>

namespace kernweave {

// Best first; never empty.
const std::vector<std::string>& instruction_sets();

// The one in use: the best, until another is asked for by name.
const std::string& instruction_set();
// "" for the best. A user failure if this machine or this build has none of that name.
void use_instruction_set(const std::string& name);

}  // namespace kernweave
