// Columns are as many numbers as landmarks times points, so there are some at a time. Threads share a chunk by parts,
// each of which has a sum of its own: any number of threads gives the same bits.
#include "solve/landmark_columns.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/threads.hpp"

namespace kernweave::solve {
namespace {

// Of the largest number on the diagonal: keeps a Cholesky factor of nearly dependent columns finite.
constexpr double kJitter = 1e-13;
constexpr Index kChunk = 4096;  // points at once: a block for the engine
constexpr Index kPart = 256;    // of these that a thread takes: columns of some hundred landmarks in second-level cache

}  // namespace

LandmarkColumns::LandmarkColumns(Entries* entries, const RowIndices& landmarks, int threads) : threads_(threads) {
  Block own;
  entries->block(landmarks, landmarks, &own);
  own.diagonal().array() += kJitter * own.diagonal().maxCoeff() * static_cast<double>(own.rows());
  cholesky_ = cholesky(own);
  user_check(cholesky_.info() == Eigen::Success, Fault::indefinite,
             "the matrix is not positive definite: its rows and columns at ", own.rows(), " landmarks are not");
}

void LandmarkColumns::each_chunk(Entries* entries, const RowIndices& landmarks, Index points,
                                 const std::function<void(Index, Index, Block&)>& work) const {
  const RowIndices all = all_places(points);
  Block columns;
  for (Index from = 0; from < points; from += kChunk) {
    const Index count = std::min(kChunk, points - from);
    entries->block(landmarks, {all.begin() + from, all.begin() + from + count}, &columns);
    each_part(count, [&](Index first, Index some, std::size_t) { by_left(columns.middleCols(first, some)); });
    work(from, count, columns);
  }
}

void LandmarkColumns::each_part(Index count, const std::function<void(Index, Index, std::size_t)>& work) const {
  share_out(
      threads_, (count + kPart - 1) / kPart, [](double) {},
      [&](int, std::int64_t part, const Heartbeat&) {
        work(part * kPart, std::min(kPart, count - part * kPart), static_cast<std::size_t>(part));
      });
}

Block LandmarkColumns::gram(Entries* entries, const RowIndices& landmarks, const Vector& weights) const {
  std::vector<Block> sums(kChunk / kPart, Block::Zero(cholesky_.rows(), cholesky_.rows()));
  each_chunk(entries, landmarks, weights.size(), [&](Index from, Index count, const Block& columns) {
    each_part(count, [&](Index first, Index some, std::size_t part) {
      const Block own = columns.middleCols(first, some) * weights.segment(from + first, some).asDiagonal();
      sums[part].selfadjointView<Eigen::Lower>().rankUpdate(own);
    });
  });
  for (std::size_t part = 1; part < sums.size(); ++part) sums[0] += sums[part];
  return sums[0].selfadjointView<Eigen::Lower>();
}

}  // namespace kernweave::solve
