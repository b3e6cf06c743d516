// Landmarks: points whose columns give a low-rank approximation of the matrix, chosen by randomly pivoted Cholesky.
#pragma once
#include <functional>
#include <vector>
#include "solve/block.hpp"
#include "solve/operator.hpp"

namespace kernweave::solve {

struct Landmarks {
  RowIndices chosen;
  double residual = 0;  // mean of the residual's diagonal
  double lowest = 0;    // the least number seen on the residual's diagonal; negative: the matrix is not definite
  Block factor;         // F, a column for each landmark: F F' is the approximation
};

// The stopping rule: `most` landmarks, or a residual of `tolerance` times the trace.
struct Enough {
  Index most;
  double tolerance = 0;
};

// Chooses landmarks among the rows `among`, with diagonal `diagonal`; fewer if the residual vanishes.
Landmarks choose_landmarks(Entries* entries, const RowIndices& among, Vector diagonal, const Enough& enough,
                           std::uint64_t seed);

// --- landmark columns -----------------------------------------------------------------------------------------------
// The columns of a matrix at its landmarks, made orthogonal in the inner product of the matrix.

class LandmarkColumns {
 public:
  LandmarkColumns(Entries* entries, const RowIndices& landmarks, int threads);

  // Multiplies x by L^-1, or by its transpose, where K[S, S] = L L' for the landmarks S.
  void by_left(Eigen::Ref<Block> x) const { cholesky_.matrixL().solveInPlace(x); }
  void by_right(Eigen::Ref<Block> x) const { cholesky_.matrixU().solveInPlace(x); }

  // Calls work(range, L^-1 K[S, range], part) for ranges of all `points` points, for several parts at the same time:
  // each part has one call at a time, and calls of a part come in order.
  using Part = std::function<void(const Range&, Eigen::Ref<Block>, std::size_t)>;
  void each_part(Entries* entries, const RowIndices& landmarks, Index points, const Part& work) const;
  // Returns X diag(weights)^2 X' for X = L^-1 K[S, ].
  Block gram(Entries* entries, const RowIndices& landmarks, const Vector& weights) const;

 private:
  Cholesky cholesky_;
  const int threads_;
};

// A sum for each part; total() adds the sums in the order of the parts.
struct PartSums {
  PartSums(Index rows, Index columns);
  Block total() const;

  std::vector<Block> of;
};

}  // namespace kernweave::solve
