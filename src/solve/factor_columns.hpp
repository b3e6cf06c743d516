// Vecchia: builds the columns of the sparse inverse Cholesky factor, on the host or on a GPU.
#pragma once
#include "solve/decompositions.hpp"
#include "solve/vecchia_pairs.hpp"

namespace kernweave::solve {

// The matrix that is factored: with a ridge on its diagonal, less what landmarks explain (a Schur complement).
struct LandmarkResidual {
  Entries* entries;
  const RowIndices& landmarks;
  const Cholesky& cholesky;  // of the matrix at the landmarks
  const VecchiaPairs& pairs;
  const Vector& ridge;  // of each point of the order
};

// The column of a point conditions on its neighbours (Vecchia): it makes the diagonal of U'(what is left)U equal to 1
// and the determinant the least. Built on `home`, or on the host where that is null or has no room.
void build_columns(const LandmarkResidual& of, device::Device* home, const Poll& poll, SparseFactor* factor);

}  // namespace kernweave::solve
