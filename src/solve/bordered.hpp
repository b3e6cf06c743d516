// Cholesky factor of a sparse matrix with some dense rows and columns: these are the border, and come last.
#pragma once
#include <Eigen/SparseCholesky>
#include <vector>
#include "solve/block.hpp"

namespace kernweave::solve {

// C = [S B; B' D] after a permutation of its rows: `inner` lists rows of the sparse S, `border` rows of the dense D.
struct BorderedMatrix {
  std::vector<int> inner, border;  // rows of C, from 0
  SparseColumns sparse;             // the lower triangle of S is read
  Block across, corner;            // B and D
};

// A lower triangular matrix [S; B' D], S sparse.
class BorderedTriangle {
 public:
  BorderedTriangle(SparseColumns sparse, Block across, Block corner, int threads)
      : sparse_(std::move(sparse)), across_(std::move(across)), corner_(std::move(corner)), threads_(threads) {}

  // Replaces x by T^-1 x, or by T'^-1 x.
  void solve(Block* x) const;
  void solve_transposed(Block* x) const;
  double sum_of_logs() const;
  BorderedTriangle plus_identity() const;

 private:
  // Calls work(columns of x, columns of x at the border) for some columns at a time.
  template <class Work>
  void each_part(Block* x, Work work) const;

  SparseColumns sparse_;
  Block across_, corner_;
  int threads_;
};

// The factor L in L L' = C, with the rows of C in the order of the factor.
class BorderedFactor {
 public:
  BorderedFactor(BorderedMatrix c, int threads);

  Index size() const { return static_cast<Index>(order_.size()); }
  const BorderedTriangle& lower() const { return lower_.front(); }
  const BorderedTriangle& lower_plus_identity() const { return lower_.back(); }
  // Returns the rows of x in the order of the factor, and back.
  Block in_order(const Block& x) const;
  Block restored(const Block& x) const;

 private:
  std::vector<int> order_;
  std::vector<BorderedTriangle> lower_;
};

}  // namespace kernweave::solve
