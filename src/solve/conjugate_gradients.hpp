// Conjugate gradients for many right-hand sides, column by column: one product of the matrix serves all.
#pragma once
#include <functional>
#include <vector>
#include "solve/engine_operator.hpp"
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

}  // namespace kernweave::solve
