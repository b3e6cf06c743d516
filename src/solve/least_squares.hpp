// Least squares for many right-hand sides, from products with a matrix and its transpose.
#pragma once
#include "solve/conjugate_gradients.hpp"

namespace kernweave::solve {

// Minimises |A x - b|^2 + sum of ridge x^2, from `start` (empty: from 0, so that the solution is the shortest one).
// `ridge` has a number for each row of x, or none. Residuals are those of the normal equations, A'(b - A x) - ridge x,
// relative to A'b.
Solution least_squares(Operator* matrix, Operator* transposed, const Vector& ridge, const Block& b, const Block& start,
                       const Limits& limits, const Poll& poll);

}  // namespace kernweave::solve
