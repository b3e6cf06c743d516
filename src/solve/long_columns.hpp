// Work on the rows of long columns, shared out to threads in pieces that sizes alone decide. Sums of pieces are added
// in order, so that any number of threads gives the same bits.
#pragma once
#include <algorithm>
#include <vector>
#include "base/threads.hpp"
#include "solve/block.hpp"

namespace kernweave::solve {

using Row = Eigen::ArrayXd;  // a number for each column

inline Block columns_of(const Block& all, const std::vector<Index>& which) {
  Block out(all.rows(), static_cast<Index>(which.size()));
  for (std::size_t k = 0; k < which.size(); ++k) out.col(static_cast<Index>(k)) = all.col(which[k]);
  return out;
}

// Numbers of a piece: half a second-level cache, and some ten times what starting a thread costs.
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

// The inner product of each column of `a` with that of `b`.
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

// a' b.
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

}  // namespace kernweave::solve
