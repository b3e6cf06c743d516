// The states of a block of the whole as bytes: what leaves the process.
#pragma once
#include <vector>
#include "cpu/sweep.hpp"

namespace kernweave {

// Packs states: equally many of each shape, one shape after the other.
std::vector<char> packed(const std::vector<SweepStates>& states);
std::vector<SweepStates> unpacked(const std::vector<char>& bytes, const std::vector<const RowShape*>& shapes);

}  // namespace kernweave
