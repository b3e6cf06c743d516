// Columns of float64 numbers: right-hand sides, directions, probes; loops over long columns, decompositions of small
// matrices, and random numbers. Other files get Eigen's types from this header.
#pragma once
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Dense>
#include <Eigen/SparseCore>
#include <algorithm>
#include <cstdint>
#include <vector>
#include "base/threads.hpp"

namespace kernweave::solve {

using Index = Eigen::Index;
using Block = Eigen::MatrixXd;  // a column for each right-hand side
using Vector = Eigen::VectorXd;
using SparseColumns = Eigen::SparseMatrix<double>;
using SparseRows = Eigen::SparseMatrix<double, Eigen::RowMajor>;

// --- decompositions -------------------------------------------------------------------------------------------------
// Decompositions of small dense matrices, in one compiled file: Eigen's templates take long to compile.

// The eigenpairs of a symmetric matrix, from its lower triangle: the smallest value first.
struct EigenPairs {
  Vector values;
  Block vectors;
  bool found;
};
EigenPairs eigen_pairs(const Block& a);
// Computes the eigenpairs of a tridiagonal matrix.
EigenPairs eigen_pairs(const Vector& diagonal, const Vector& beside);
Vector eigenvalues(const Vector& diagonal, const Vector& beside);

// An eigenvalue below -kNegative times the largest eigenvalue is no rounding error: the matrix is not semidefinite.
constexpr double kNegative = 1e-7;

// The factor L of A = L L'; info() tells whether A has one.
using Cholesky = Eigen::LLT<Block>;
Cholesky cholesky(const Block& a);

// --- long columns ---------------------------------------------------------------------------------------------------
// Loops over the rows of long columns, by threads, in pieces that depend on sizes alone. Sums of pieces are added in
// order, so that any number of threads gives the same bits.

using Row = Eigen::ArrayXd;  // a number for each column

inline Block columns_of(const Block& all, const std::vector<Index>& which) {
  Block out(all.rows(), static_cast<Index>(which.size()));
  for (std::size_t k = 0; k < which.size(); ++k) out.col(static_cast<Index>(k)) = all.col(which[k]);
  return out;
}

// The numbers of a piece: half a second-level cache, and about ten times the time to start a thread.
constexpr Index kPiece = 1 << 16;

inline Index rows_of_piece(Index columns) { return std::max<Index>(1, kPiece / std::max<Index>(1, columns)); }

// Calls work(first, last, piece) for rows first .. last - 1.
template <class Work>
void each_piece(Index rows, Index columns, int threads, Work work) {
  const Index height = rows_of_piece(columns), pieces = (rows + height - 1) / height;
  share_out(
      pieces > 1 ? threads : 1, pieces, [](double) {},
      [&](int, std::int64_t piece, const Heartbeat&) {
        work(piece * height, std::min(rows, (piece + 1) * height), piece);
      });
}

// Returns the inner product of each column of `a` with the column of `b` of the same number.
inline Row dots(const Block& a, const Block& b, int threads) {
  const Index height = rows_of_piece(a.cols());
  Block sums = Block::Zero(a.cols(), (a.rows() + height - 1) / height);
  each_piece(a.rows(), a.cols(), threads, [&](Index first, Index last, Index piece) {
    const Index n = last - first;
    sums.col(piece) = a.middleRows(first, n).cwiseProduct(b.middleRows(first, n)).colwise().sum().transpose();
  });
  return sums.rowwise().sum().array();
}

inline Row norms(const Block& a, int threads) { return dots(a, a, threads).sqrt(); }

// x += d diag(by).
inline void add_multiple(Block* x, const Block& d, const Row& by, int threads) {
  each_piece(d.rows(), d.cols(), threads, [&](Index first, Index last, Index) {
    x->middleRows(first, last - first) += d.middleRows(first, last - first) * by.matrix().asDiagonal();
  });
}

// x += d by.
inline void add_product(Block* x, const Eigen::Ref<const Block>& d, const Block& by, int threads) {
  each_piece(d.rows(), d.cols(), threads, [&](Index first, Index last, Index) {
    x->middleRows(first, last - first).noalias() += d.middleRows(first, last - first) * by;
  });
}

// Computes a' b.
inline Block inner_products(const Block& a, const Block& b, int threads) {
  const Index pieces = (a.rows() + rows_of_piece(a.cols()) - 1) / rows_of_piece(a.cols());
  std::vector<Block> sums(static_cast<std::size_t>(pieces));
  each_piece(a.rows(), a.cols(), threads, [&](Index first, Index last, Index piece) {
    const Index n = last - first;
    sums[static_cast<std::size_t>(piece)] = a.middleRows(first, n).transpose() * b.middleRows(first, n);
  });
  Block sum = Block::Zero(a.cols(), b.cols());
  for (const Block& one : sums) sum += one;
  return sum;
}

// d = z + d diag(by).
inline void follow(Block* d, const Block& z, const Row& by, int threads) {
  each_piece(z.rows(), z.cols(), threads, [&](Index first, Index last, Index) {
    auto part = d->middleRows(first, last - first);
    part = z.middleRows(first, last - first) + part * by.matrix().asDiagonal();
  });
}

// y = diag(by) x.
inline void scale_rows(const Vector& by, const Block& x, Block* y, int threads) {
  y->resize(x.rows(), x.cols());
  each_piece(x.rows(), x.cols(), threads, [&](Index first, Index last, Index) {
    y->middleRows(first, last - first) =
        by.segment(first, last - first).asDiagonal() * x.middleRows(first, last - first);
  });
}

// y += factor diag(by) x.
inline void add_scaled_rows(const Vector& by, const Block& x, double factor, Block* y, int threads) {
  each_piece(x.rows(), x.cols(), threads, [&](Index first, Index last, Index) {
    y->middleRows(first, last - first) +=
        (factor * by.segment(first, last - first)).asDiagonal() * x.middleRows(first, last - first);
  });
}

// --- random numbers -------------------------------------------------------------------------------------------------
// Random numbers as a function of a seed and a position: equal on every machine and for any number of threads.

// The finaliser of splitmix64: every bit of the result depends on every bit of the argument.
inline std::uint64_t scrambled(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t place) {
  return scrambled(scrambled(seed) ^ scrambled(place + 1));
}

// Returns a random number in [0, 1), from the 53 upper bits.
inline double random_uniform(std::uint64_t seed, std::uint64_t place) {
  return static_cast<double>(random_bits(seed, place) >> 11) * 0x1p-53;
}

// Offset of the seeds of signs, so that a probe is independent of a random order of points with the same seed.
constexpr std::uint64_t kSigns = std::uint64_t{1} << 40;

inline double random_sign(std::uint64_t seed, std::uint64_t place) {
  return random_bits(seed + kSigns, place) >> 63 ? 1.0 : -1.0;
}

}  // namespace kernweave::solve
