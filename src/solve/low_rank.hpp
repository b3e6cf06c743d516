// The preconditioner of smooth kernels: landmarks, and a diagonal for what they leave.
#pragma once
#include "solve/entries.hpp"
#include "solve/preconditioner.hpp"

namespace kernweave::solve {

// P = K[, S] K[S, S]^-1 K[S, ] + diag(shift).
PreconditionerPointer low_rank_preconditioner(Entries* entries, const Places& landmarks, const Vector& shift,
                                              double ridge);

}  // namespace kernweave::solve
