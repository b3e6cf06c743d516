// The square root of a matrix times vectors, by Lanczos.
#pragma once
#include "solve/lanczos.hpp"

namespace kernweave::solve {

struct RootLimits {
  double tolerance;  // of what is still to change, relative to the result
  int most;          // steps
  Index together;    // columns at once: each has a basis
  int threads = 1;
};

struct Roots {
  Block y;
  std::vector<int> steps;  // of each column
  Vector change;           // as it is reckoned, relative
  int products = 0;
  bool converged = true;
};

// y = B^1/2 x of a symmetric positive semidefinite matrix.
Roots square_root_times(Operator* matrix, const Block& x, const RootLimits& limits, const Poll& poll);

}  // namespace kernweave::solve
