// Finds traits of operations from their rows: by trying the rows on numbers, and from what their adjoints read.
#pragma once
#include <optional>
#include <vector>
#include "expr/table.hpp"

namespace kernweave {

// Fills in what is found by trying.
void find_traits(OpRow* row);

// The arguments in which an operation is linear, all at once, while all others are numbers; those that are `fixed` may
// be. None where there are no such arguments: the adjoints of these read none of them, and nor do they read the result.
std::optional<std::vector<bool>> linear_arguments(Op op, const std::vector<bool>& fixed);

}  // namespace kernweave
