// Pushes the structural operations to the leaves and writes aliases out.
#pragma once
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// What is left: rows other than ALIAS, variables, numbers, and gathers of variables.
std::vector<Expr> normalised(const std::vector<Expr>& formulas);

// What is derived keeps aliases that have an adjoint of their own, too.
Expr normalised_for_derivatives(Expr f);

}  // namespace kernweave
