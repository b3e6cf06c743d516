// Tensors of components, laid out by columns as R's arrays are.
#pragma once
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// Of a matrix with so many rows.
Expr transpose(Expr matrix, int rows);

// R's kronecker() of two arrays. Both have as many dimensions.
Expr kronecker(Expr x, Expr y, const std::vector<int>& dims_x, const std::vector<int>& dims_y);

// What tensordot() is asked for, axes counted from 1. Without an order, the axes of x that are left come before those
// of y.
struct Contraction {
  std::vector<int> dims_x, dims_y;
  std::vector<int> axes_x, axes_y;  // to be summed over, pair by pair
  std::vector<int> order;           // of the axes of the result, as for R's aperm()
};
Expr tensor_dot(Expr x, Expr y, const Contraction& wanted);

}  // namespace kernweave
