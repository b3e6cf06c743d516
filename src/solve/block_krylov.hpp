// The largest eigenvalues of a symmetric operator, and a low-rank approximation, from products with blocks of columns.
#pragma once
#include <cstdint>
#include "solve/landmarks.hpp"
#include "solve/operator.hpp"

namespace kernweave::solve {

struct EigenLimits {
  Index wanted;         // number of pairs
  Index block;          // columns of a product
  double tolerance;     // bound of a residual |Av - av|, relative to |a|
  double rounding;      // rounding error of a product, relative to the largest eigenvalue: no residual is smaller
  int most;             // products
  Index basis;          // columns of the basis, at most
  std::uint64_t seed;   // seed of the first block, and of the random columns that replace dependent columns
};

struct Eigenpairs {
  Vector values;  // the largest first
  Block vectors;
  Vector residuals;
  int passes = 0;
  bool converged = false;
};

// Begins with the columns of `start`, as many as fit into a block; `start` may be empty.
Eigenpairs largest_eigenpairs(Operator* matrix, const Block& start, const EigenLimits& limits, const Poll& poll);

// --- sketch ---------------------------------------------------------------------------------------------------------
// A low-rank approximation of a positive semi-definite operator from its products with random columns (Nystrom).

struct Sketch {
  Block factor;         // F in F F'
  double residual = 0;  // trace(A - F F') / trace(A); exact if the trace of A is known, else estimated by random signs
};

// `trace`: the trace of the matrix; NaN if unknown.
Sketch sketched(Operator* matrix, const Enough& enough, double trace, std::uint64_t seed, const Poll& poll);

}  // namespace kernweave::solve
