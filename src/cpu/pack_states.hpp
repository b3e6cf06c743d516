// The states of a block of the whole as bytes: what leaves the process.
#pragma once
#include <vector>
#include "cpu/found.hpp"

namespace kernweave {

std::vector<char> packed(const PassStates& states);
PassStates unpacked(const std::vector<char>& bytes, const RowShape& shape);

// The blocks, or chunks, of so many points each that a range of points is made of.
Range in_steps(const Range& points, std::int64_t step);

}  // namespace kernweave
