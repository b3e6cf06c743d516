// Applies the rules until none fires.
#pragma once
#include <array>
#include <string>
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// Estimates the cost of a formula: instructions for every pair, for every row or column, and once.
std::array<long long, 3> work_of(Expr formula);

// `fired`, where given, collects the names of the rules in the order they fired.
std::vector<Expr> simplify(const std::vector<Expr>& formulas, std::vector<std::string>* fired = nullptr);

// Replaces formulas of numbers alone by their values; changes nothing else.
std::vector<Expr> with_numbers_folded(const std::vector<Expr>& formulas);

}  // namespace kernweave
