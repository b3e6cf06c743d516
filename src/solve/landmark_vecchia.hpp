// The preconditioner of rough kernels: landmarks (inducing points) and a Vecchia approximation of what they leave, a
// sparse inverse Cholesky factor.
#pragma once
#include "solve/low_rank.hpp"
#include "solve/sparse_factor.hpp"

namespace kernweave::solve {

// Conditioning sets of Vecchia's approximation: for each point that is no landmark, neighbours among those before it in
// a sequence that is to be random.
struct ConditioningSets {
  RowIndices order;           // the points, near ones together
  Slots at;                   // a column for each: places in the order
  std::vector<int> sequence;  // the same, place by place
};

// The numbers of P^-1 where the trace of P^-1 dA reads them: dA[S, S] times `own`, dA[S, R] times `cross`, the diagonal
// of dA times `diagonal`, and of dA[R, R] the pairs of each point and its neighbours. `cross` has a number for each
// landmark and point, so there are some landmarks at a time: rows of `own` and `cross`, whose traces add up to the
// whole; the diagonal of R is with the first.
struct InverseWeights {
  Block own;
  Columns cross;  // on the device that they were asked for on
  Vector diagonal;
};

// Pairs of points: row and column in the matrix, from 1, each pair once, and what its entry is multiplied by.
struct WeightedPairs {
  Columns rows, columns, weights;  // a column of numbers each
};

// Returns the weights of a preconditioner of landmarks and Vecchia.
InverseWeights inverse_weights(Preconditioner* preconditioner, const Range& landmarks, device::Device* home);
// Returns the pairs of `count` points of the order from number `from` on.
WeightedPairs weighted_pairs(const Preconditioner& preconditioner, Index from, Index count, device::Device* home);

// Makes the preconditioner; without landmarks, Vecchia's sparse factor alone. `ridge`: a number a point, added to the
// matrix's diagonal. On the device `home` if there is one.
PreconditionerPointer landmark_vecchia_preconditioner(Entries* entries, RowIndices landmarks,
                                                      ConditioningSets neighbours, const Vector& ridge,
                                                      device::Device* home, int threads, const Poll& poll);

}  // namespace kernweave::solve
