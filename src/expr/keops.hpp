// Makes operations as a text in KeOps' words means them: places count from 0, matrices and tensors lie by rows.
#pragma once
#include <string>
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// The formula for an operation whose arguments and whole numbers are given as KeOps gives them. Messages call it
// `written`.
Expr make_keops(Op op, std::vector<Expr> args, std::vector<int> attributes, const std::string& written);

// A matrix of so many rows that lies by columns, by rows.
Expr by_rows(Expr matrix, int rows);

}  // namespace kernweave
