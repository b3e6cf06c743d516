// Iterations for systems: conjugate gradients, by columns and by blocks, minimal residuals, least squares.
#pragma once
#include <functional>
#include <vector>
#include "solve/operator.hpp"
#include "solve/preconditioner.hpp"

namespace kernweave::solve {

struct Limits {
  double tolerance;  // of the residual, relative to the right-hand side
  int most;          // iterations
  int threads = 1;   // of work on vectors
};

// Numbers of the Lanczos process that runs along: of each step of a column.
struct Coefficients {
  std::vector<double> step, ratio;  // alpha, beta
};

struct Solution {
  Columns x;     // where the iteration was
  Columns left;  // b - A x as the recursion has it, where it was ended before x was there; else of no columns
  std::vector<int> iterations;  // of each column
  Vector residual;              // the true one, recomputed, relative
  std::vector<double> history;  // the largest residual after each iteration, as the recursion has it
  std::vector<Coefficients> coefficients;
  int products = 0;
  enum class Ending { converged, cap, stagnant } end = Ending::converged;
};

// An early stop of an iteration: what is wanted is known before residuals are small. Asked now and then.
using Satisfied = std::function<bool(const Solution&)>;

// Solves A x = b from `start` (empty: from 0). `preconditioner` may be null. What is not positive definite is a
// failure.
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
