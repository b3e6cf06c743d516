// Iterations for systems: conjugate gradients, by columns and by blocks, minimal residuals, least squares.
#pragma once
#include <functional>
#include <vector>
#include "solve/operator.hpp"
#include "solve/preconditioner.hpp"

namespace kernweave::solve {

struct Limits {
  double tolerance;  // bound of the residual, relative to the right-hand side
  int most;          // iterations
  int threads = 1;   // threads for work on vectors
};

// The coefficients of conjugate gradients at each step of a column, which define its Lanczos process.
struct Coefficients {
  std::vector<double> step, ratio;  // alpha, beta
};

struct Solution {
  Columns x;     // the last iterate
  Columns left;  // the recursive residual b - A x, if the iteration was stopped early; else of no columns
  std::vector<int> iterations;  // iterations of each column
  Vector residual;              // the true relative residual, recomputed
  std::vector<double> history;  // the largest recursive residual after each iteration
  std::vector<Coefficients> coefficients;
  int products = 0;
  enum class Ending { converged, cap, stagnant } end = Ending::converged;
};

// A test, called every few iterations, whether an iteration may stop before residuals are small.
using Satisfied = std::function<bool(const Solution&)>;

// Solves A x = b from `start` (empty: from 0). `preconditioner` may be null. Fails if A is not positive definite.
Solution conjugate_gradients(Operator* matrix, Preconditioner* preconditioner, const Block& b, const Block& start,
                             const Limits& limits, const Poll& poll, const Satisfied& satisfied = nullptr);

// --- block conjugate gradients --------------------------------------------------------------------------------------
// Block conjugate gradients: right-hand sides share one Krylov space.

// Solves like conjugate_gradients(), in fewer products if columns are many; coefficients are not kept.
Solution block_conjugate_gradients(Operator* matrix, Preconditioner* preconditioner, const Block& b,
                                   const Block& start, const Limits& limits, const Poll& poll);

// --- minimal_residual.cpp ------------------------------------------------------------------------------------------
// The method of minimal residuals, for symmetric matrices that are not definite.

Solution minimal_residual(Operator* matrix, const Block& b, const Limits& limits, const Poll& poll);

// --- least squares --------------------------------------------------------------------------------------------------
// Least squares for many right-hand sides, from products with a matrix and its transpose.

// Minimises |A x - b|^2 + sum of ridge x^2, from `start` (empty: from 0, so that the solution is the shortest one).
// `ridge` has a number for each row of x, or none. Residuals are those of the normal equations, A'(b - A x) - ridge x,
// relative to A'b.
Solution least_squares(Operator* matrix, Operator* transposed, const Vector& ridge, const Block& b, const Block& start,
                       const Limits& limits, const Poll& poll);

}  // namespace kernweave::solve
