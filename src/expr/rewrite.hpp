// Applies the rules until none fires.
#pragma once
#include <string>
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// `fired`, where given, collects the names of the rules in the order they fired.
std::vector<Expr> simplify(const std::vector<Expr>& formulas, std::vector<std::string>* fired = nullptr);

}  // namespace kernweave
