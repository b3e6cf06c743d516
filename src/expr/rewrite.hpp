// Applies the rules until none fires.
#pragma once
#include <array>
#include <string>
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// What a formula costs: instructions, about, for every pair, for every row or column, and once.
std::array<long long, 3> work_of(Expr formula);

// `fired`, where given, collects the names of the rules in the order they fired.
std::vector<Expr> simplify(const std::vector<Expr>& formulas, std::vector<std::string>* fired = nullptr);

// What is made of numbers alone becomes the number that it makes; nothing else changes.
std::vector<Expr> with_numbers_folded(const std::vector<Expr>& formulas);

}  // namespace kernweave
