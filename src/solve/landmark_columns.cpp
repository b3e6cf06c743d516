// Columns are as many numbers as landmarks times points, so there are some at a time. Threads share a chunk by parts,
// each of which has a sum of its own: any number of threads gives the same bits.
#include "solve/landmarks.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/threads.hpp"

namespace kernweave::solve {
namespace {

// The share of the largest diagonal entry that keeps a Cholesky factor of nearly dependent columns finite.
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

void LandmarkColumns::each_part(Entries* entries, const RowIndices& landmarks, Index points, const Part& work) const {
  const RowIndices all = all_places(points);
  Block columns;
  for (Index from = 0; from < points; from += kChunk) {
    const Index count = std::min(kChunk, points - from);
    entries->block(landmarks, {all.begin() + from, all.begin() + from + count}, &columns);
    share_out(
        threads_, (count + kPart - 1) / kPart, [](double) {},
        [&](int, std::int64_t part, const Heartbeat&) {
          const Index first = part * kPart, some = std::min(kPart, count - first);
          auto own = columns.middleCols(first, some);
          by_left(own);
          work({from + first, from + first + some}, own, static_cast<std::size_t>(part));
        });
  }
}

Block LandmarkColumns::gram(Entries* entries, const RowIndices& landmarks, const Vector& weights) const {
  PartSums sums(cholesky_.rows(), cholesky_.rows());
  each_part(entries, landmarks, weights.size(), [&](const Range& at, Eigen::Ref<Block> columns, std::size_t part) {
    columns = columns * weights.segment(at.from, at.size()).asDiagonal();
    sums.of[part].selfadjointView<Eigen::Lower>().rankUpdate(columns);
  });
  return Block(sums.total().selfadjointView<Eigen::Lower>());
}

PartSums::PartSums(Index rows, Index columns) : of(kChunk / kPart, Block::Zero(rows, columns)) {}

Block PartSums::total() const {
  Block sum = of[0];
  for (std::size_t part = 1; part < of.size(); ++part) sum += of[part];
  return sum;
}

}  // namespace kernweave::solve
