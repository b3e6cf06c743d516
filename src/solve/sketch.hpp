// A low rank of a positive semi-definite operator from its products with random columns (Nystrom).
#pragma once
#include "solve/engine_operator.hpp"
#include "solve/landmarks.hpp"

namespace kernweave::solve {

struct Sketch {
  Block factor;         // F of F F'
  double residual = 0;  // of the trace, what F F' leaves; exact where the trace is known, else by random signs
};

// `trace`: of the matrix; NaN where nobody knows it.
Sketch sketched(Operator* matrix, const Enough& enough, double trace, std::uint64_t seed, const Poll& poll);

}  // namespace kernweave::solve
