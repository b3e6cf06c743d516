// The preconditioner of smooth kernels: landmarks, and a diagonal for what they leave.
#pragma once
#include "solve/entries.hpp"
#include "solve/preconditioner.hpp"

namespace kernweave::solve {

// P = K[, S] K[S, S]^-1 K[S, ] + diag(shift).
PreconditionerPointer low_rank_preconditioner(Entries* entries, const RowIndices& landmarks, const Vector& shift,
                                              double ridge, int threads);

// Numbers by which the trace of (P^-1 - V V'/p) dP weighs what P is made of, where landmarks are held, p being the
// columns of V: dK[S, S], dK[S, all], and what is added to the diagonal.
struct LowRankWeights {
  Block own, cross;
  Vector diagonal;
};

// Returns the weights of a preconditioner of low rank.
LowRankWeights low_rank_weights(Entries* entries, const Preconditioner& preconditioner, const RowIndices& landmarks,
                                const Block& v);
double low_rank_inverse_trace(Entries* entries, const Preconditioner& preconditioner, const RowIndices& landmarks);

}  // namespace kernweave::solve
