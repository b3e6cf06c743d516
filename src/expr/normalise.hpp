// Pushes the structural operations to the leaves and writes aliases out.
#pragma once
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// Reduces formulas to rows other than ALIAS, variables, numbers, and gathers of variables.
std::vector<Expr> normalised(const std::vector<Expr>& formulas);

// Normalises a formula for derivatives: aliases that have an adjoint of their own are kept, too.
Expr normalised_for_derivatives(Expr f);

}  // namespace kernweave
