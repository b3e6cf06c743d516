// Eigen's solvers, each for the one type of matrix that there is.
#include "solve/decompositions.hpp"

#include "base/error.hpp"

namespace kernweave::solve {
namespace {

using Solver = Eigen::SelfAdjointEigenSolver<Block>;

const Solver& checked(const Solver& solver) {
  internal_check(solver.info() == Eigen::Success, "eigenvalues of a matrix were not found");
  return solver;
}

}  // namespace

EigenPairs eigen_pairs(const Block& a) {
  const Solver solver(a);
  return {checked(solver).eigenvalues(), solver.eigenvectors()};
}

EigenPairs eigen_pairs(const Vector& diagonal, const Vector& beside) {
  Solver solver;
  solver.computeFromTridiagonal(diagonal, beside);
  return {checked(solver).eigenvalues(), solver.eigenvectors()};
}

Vector eigenvalues(const Vector& diagonal, const Vector& beside) {
  Solver solver;
  solver.computeFromTridiagonal(diagonal, beside, Eigen::EigenvaluesOnly);
  return checked(solver).eigenvalues();
}

Cholesky cholesky(const Block& a) { return Cholesky(a); }

}  // namespace kernweave::solve
