// The tridiagonal matrix of a Lanczos process, and the Gauss quadrature rules that it gives.
#pragma once
#include "solve/block.hpp"

namespace kernweave::solve {

struct Tridiagonal {
  Vector diagonal, beside;  // of n and n - 1 numbers
};

// Nodes, and weights that sum to 1: w' f(B) w / w'w is near the sum of weights times f(nodes).
struct QuadratureRule {
  Eigen::ArrayXd nodes, weights;
};

// Computes the Gauss rule of the leading part of `rows` rows.
QuadratureRule gauss_rule(const Tridiagonal& t, Index rows);
// Computes the Gauss-Radau rule: the last number on the diagonal makes `node` an eigenvalue, and the bound is from the
// other side. For two rows or more.
QuadratureRule radau_rule(Tridiagonal t, double node);

double smallest_value(const Tridiagonal& t);

}  // namespace kernweave::solve
