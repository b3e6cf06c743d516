// The states of a block of the whole as bytes: what leaves the process.
#pragma once
#include <vector>
#include "cpu/sweep.hpp"

namespace kernweave {

std::vector<char> packed(const SweepStates& states);
SweepStates unpacked(const std::vector<char>& bytes, const RowShape& shape);

}  // namespace kernweave
