// Columns of a matrix at its landmarks, made orthogonal in the inner product of the matrix.
#pragma once
#include <functional>
#include <vector>

#include "solve/decompositions.hpp"
#include "solve/entries.hpp"

namespace kernweave::solve {

class LandmarkColumns {
 public:
  LandmarkColumns(Entries* entries, const RowIndices& landmarks, int threads);

  // Multiplies x by L^-1, or by its transpose, where K[S, S] = L L' and S are the landmarks.
  void by_left(Eigen::Ref<Block> x) const { cholesky_.matrixL().solveInPlace(x); }
  void by_right(Eigen::Ref<Block> x) const { cholesky_.matrixU().solveInPlace(x); }

  // Calls work(points, L^-1 K[S, points], part) for all of so many points, for several parts at the same time: each
  // part has one call at a time, and those of one part come in order.
  using Part = std::function<void(const Range&, Eigen::Ref<Block>, std::size_t)>;
  void each_part(Entries* entries, const RowIndices& landmarks, Index points, const Part& work) const;
  // X diag(weights)^2 X' of X = L^-1 K[S, ].
  Block gram(Entries* entries, const RowIndices& landmarks, const Vector& weights) const;

 private:
  Cholesky cholesky_;
  const int threads_;
};

// A sum for each part, added up in their order.
struct PartSums {
  PartSums(Index rows, Index columns);
  Block total() const;

  std::vector<Block> of;
};

}  // namespace kernweave::solve
