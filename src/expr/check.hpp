// Checks that a graph is as the stages after settling may rely on.
#pragma once
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// An internal failure, naming the node, if a formula holds anything but normalised rows of consistent type.
void check_normalised(const std::vector<Expr>& formulas);

}  // namespace kernweave
