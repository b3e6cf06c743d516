// Quadratic forms of an inverse, without the solutions.
#pragma once
#include "solve/conjugate_gradients.hpp"

namespace kernweave::solve {

struct Forms {
  Vector value;                 // never more than the truth
  Vector left;                  // the most that is missing
  std::vector<int> iterations;  // of each column
  int products = 0;
  bool converged = true;
};

// b'A^-1 b of each column, from below. Where it is to be taken from a number `whole`, as a variance that falls, that
// difference is what the tolerance is relative to; `whole` of 0 is the form itself.
// `smallest`: a number that no eigenvalue of the matrix is below, or 0. Where none is known, of the matrix or of what
// the preconditioner makes of it, the smallest Ritz value so far is taken for it.
// `quick`: the same matrix by quicker products of less precision, which directions are multiplied by; null: there is
// none. Answers are as accurate with it.
Forms inverse_forms(Operator* matrix, Operator* quick, Preconditioner* preconditioner, const Block& b,
                    const Vector& whole, double smallest, const Limits& limits, const Poll& poll);

}  // namespace kernweave::solve
