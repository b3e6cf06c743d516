// Decompositions of small dense matrices, compiled once: their templates take longer than all that uses them.
#pragma once
#include "solve/block.hpp"

namespace kernweave::solve {

// The eigenpairs of a symmetric matrix, whose lower triangle is read: the smallest value first.
struct EigenPairs {
  Vector values;
  Block vectors;
  bool found;
};
EigenPairs eigen_pairs(const Block& a);
// Computes the eigenpairs of a tridiagonal matrix.
EigenPairs eigen_pairs(const Vector& diagonal, const Vector& beside);
Vector eigenvalues(const Vector& diagonal, const Vector& beside);

// An eigenvalue below minus this, relative to the largest, is not explained by rounding.
constexpr double kNegative = 1e-7;

// L of L L' = A, whose info() says whether there is one.
using Cholesky = Eigen::LLT<Block>;
Cholesky cholesky(const Block& a);

}  // namespace kernweave::solve
