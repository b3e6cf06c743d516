// Eigen's solvers, each for the one type of matrix that there is.
#include "solve/block.hpp"

namespace kernweave::solve {
namespace {

using Solver = Eigen::SelfAdjointEigenSolver<Block>;

EigenPairs pairs_of(const Solver& solver) {
  return {solver.eigenvalues(), solver.eigenvectors(), solver.info() == Eigen::Success};
}

}  // namespace

EigenPairs eigen_pairs(const Block& a) { return pairs_of(Solver(a)); }

EigenPairs eigen_pairs(const Vector& diagonal, const Vector& beside) {
  Solver solver;
  solver.computeFromTridiagonal(diagonal, beside);
  return pairs_of(solver);
}

Vector eigenvalues(const Vector& diagonal, const Vector& beside) {
  Solver solver;
  solver.computeFromTridiagonal(diagonal, beside, Eigen::EigenvaluesOnly);
  return solver.eigenvalues();
}

Cholesky cholesky(const Block& a) { return Cholesky(a); }

}  // namespace kernweave::solve
