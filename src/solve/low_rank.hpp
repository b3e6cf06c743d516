// The preconditioner of smooth kernels: landmarks, and a diagonal for what they leave.
#pragma once
#include "solve/entries.hpp"
#include "solve/preconditioner.hpp"

namespace kernweave::solve {

// A lazy matrix K of n points beside its columns at the landmarks: from them (n x k) and to them (k x n).
struct Thin {
  OperatorPointer from, to;
  Places landmarks;
};

// P = K[, S] K[S, S]^-1 K[S, ] + diag(shift).
PreconditionerPointer low_rank_preconditioner(Entries* entries, Thin thin, Vector shift, double ridge);

}  // namespace kernweave::solve
