// Columns of a matrix at its landmarks, made orthogonal in the inner product of the matrix.
#pragma once
#include <functional>

#include "solve/decompositions.hpp"
#include "solve/entries.hpp"

namespace kernweave::solve {

class LandmarkColumns {
 public:
  LandmarkColumns(Entries* entries, const RowIndices& landmarks, int threads);

  // Of K[S, S] = L L', S being the landmarks: x by L^-1, and by its transpose.
  void by_left(Eigen::Ref<Block> x) const { cholesky_.matrixL().solveInPlace(x); }
  void by_right(Eigen::Ref<Block> x) const { cholesky_.matrixU().solveInPlace(x); }

  // Calls work(first point, points, L^-1 K[S, points]) for some points after the others, of so many.
  void each_chunk(Entries* entries, const RowIndices& landmarks, Index points,
                  const std::function<void(Index, Index, Block&)>& work) const;
  // X diag(weights)^2 X' of X = L^-1 K[S, ].
  Block gram(Entries* entries, const RowIndices& landmarks, const Vector& weights) const;

 private:
  void each_part(Index count, const std::function<void(Index, Index, std::size_t)>& work) const;

  Cholesky cholesky_;
  const int threads_;
};

}  // namespace kernweave::solve
