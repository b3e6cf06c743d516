// The preconditioner of rough kernels: landmarks, and a sparse inverse factor of what they leave.
#pragma once
#include "solve/low_rank.hpp"
#include "solve/sparse_factor.hpp"

namespace kernweave::solve {

// Of each point that is no landmark, in an order that is to be random: neighbours among those before it.
struct Neighbours {
  Places order;  // the points
  Slots at;      // a column for each: places in the order
};

// The numbers of P^-1 where the trace of P^-1 dA reads them: dA[S, S] times `own`, dA[S, R] times `cross`, the diagonal
// of dA times `diagonal`, and of dA[R, R] the pairs of each point and its neighbours.
struct InverseWeights {
  Block own, cross;
  Vector diagonal;
};

// Where pairs are listed: row and column in the matrix, each pair once, and what its entry is multiplied by.
struct PairList {
  double *rows, *columns, *weights;
};

// Of a preconditioner that has two parts.
InverseWeights inverse_weights(Entries* entries, const Preconditioner& preconditioner);
// Of `count` points of the order from number `from` on: how many pairs, and these.
std::size_t count_pairs(const Preconditioner& preconditioner, Index from, Index count);
void list_pairs(const Preconditioner& preconditioner, Index from, Index count, const PairList& to);

// With no landmarks, the sparse factor alone. `ridge` is added to the diagonal of the matrix, a number a point.
PreconditionerPointer two_part_preconditioner(Entries* entries, Places landmarks, Neighbours neighbours,
                                              const Vector& ridge, int threads, const Poll& poll);

}  // namespace kernweave::solve
