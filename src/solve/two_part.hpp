// The preconditioner of rough kernels: landmarks, and a sparse inverse factor of what they leave.
#pragma once
#include "solve/low_rank.hpp"

namespace kernweave::solve {

// Of each point that is no landmark, in an order that is to be random: neighbours among those before it.
struct Neighbours {
  Places order;                                           // the points
  Eigen::Matrix<int, Eigen::Dynamic, Eigen::Dynamic> at;  // a column for each: places in the order from 0; -1 for none
};

// The numbers of P^-1 where the trace of P^-1 dA reads them: dA[S, S] times `own`, dA[S, R] times `cross`, and dA[R, R]
// times U U', whose columns are `factor`: a slot for each neighbour, then the point's own.
struct InverseWeights {
  Block own, cross, factor;
};

// Of a preconditioner that has two parts.
InverseWeights inverse_weights(Entries* entries, const Preconditioner& preconditioner);

// With no landmarks, the sparse factor alone. `ridge` is added to the diagonal of the matrix, a number a point.
PreconditionerPointer two_part_preconditioner(Entries* entries, Places landmarks, Neighbours neighbours,
                                              const Vector& ridge, int threads, const Poll& poll);

}  // namespace kernweave::solve
