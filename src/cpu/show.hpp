// A pass's instructions as text: for whoever compares them.
#pragma once
#include <string>
#include "cpu/pass.hpp"

namespace kernweave {

// Each instruction of each program, a line. No addresses: equal passes have equal texts.
std::string show(const Pass& pass, const TileKernel& kernel);

}  // namespace kernweave
