// Tensors of components, laid out by columns as R's arrays are.
#pragma once
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// Transposes a matrix of `rows` rows.
Expr transpose(Expr matrix, int rows);

// R's kronecker() of two arrays. Both have as many dimensions.
Expr kronecker(Expr x, Expr y, const std::vector<int>& dims_x, const std::vector<int>& dims_y);

// The arguments of tensordot(), axes counted from 1. Without an order, the axes left of x come before the axes left of
// y.
struct Contraction {
  std::vector<int> dims_x, dims_y;
  std::vector<int> axes_x, axes_y;  // to be summed over, pair by pair
  std::vector<int> order;           // of the axes of the result, as for R's aperm()
};
Expr tensor_dot(Expr x, Expr y, const Contraction& wanted);

}  // namespace kernweave
