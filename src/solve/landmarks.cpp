// Landmarks, by randomly pivoted Cholesky, and their columns. Pivots come in batches: proposals are drawn with
// probabilities proportional to the residual diagonal, and accepted by rejection sampling, so that the distribution of
// the pivots is that of the sequential method.
#include "solve/landmarks.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/threads.hpp"
#include "solve/block.hpp"

namespace kernweave::solve {
namespace {

// The number of proposals at once: dozens make matrix products fast; with more, more proposals are rejected.
constexpr Index kBatch = 64;
// The residual is rounding error below this share of the diagonal's sum.
constexpr double kTraceOfRounding = 1e-12;

class Pivoting {
 public:
  Pivoting(Entries* entries, const RowIndices& among, Vector diagonal, const Enough& enough, std::uint64_t seed)
      : entries_(entries),
        among_(among),
        left_(std::move(diagonal)),
        all_(left_.sum()),
        enough_(enough),
        seed_(seed),
        factor_(left_.size(), 0) {}

  Landmarks run() {
    const double goal = std::max(kTraceOfRounding, enough_.tolerance) * all_;
    while (rank_ < enough_.most && left_.sum() > goal) extend(accepted(proposals(), enough_.most - rank_));
    double left = left_.sum();
    if (enough_.tolerance > 0) left = without_surplus(left, goal);
    factor_.conservativeResize(left_.size(), rank_);
    return {chosen_, left / static_cast<double>(left_.size()), lowest_, std::move(factor_)};
  }

 private:
  // Removes the last columns of a batch that the goal does not need.
  double without_surplus(double left, double goal) {
    while (rank_ > 0) {
      const double without = left + factor_.col(rank_ - 1).squaredNorm();
      if (without > goal) break;
      left = without;
      chosen_.pop_back();
      --rank_;
    }
    return left;
  }

  void make_room(Index count) {
    if (rank_ + count <= factor_.cols()) return;
    const Index twice = std::max(2 * factor_.cols(), rank_ + count);
    factor_.conservativeResize(left_.size(), std::min(enough_.most, twice));
  }

  // Returns proposals without repetition, in the order in which they were drawn.
  std::vector<Index> proposals() {
    std::vector<double> sums(static_cast<std::size_t>(left_.size()));
    double sum = 0;
    for (Index k = 0; k < left_.size(); ++k) sums[static_cast<std::size_t>(k)] = sum += left_[k];
    std::vector<Index> drawn;
    for (Index k = 0; k < kBatch; ++k) {
      const double at = random_uniform(seed_, place_++) * sum;
      const auto found = std::upper_bound(sums.begin(), sums.end(), at) - sums.begin();
      const Index one = std::min<Index>(found, left_.size() - 1);
      if (left_[one] > 0 && std::find(drawn.begin(), drawn.end(), one) == drawn.end()) drawn.push_back(one);
    }
    return drawn;
  }

  RowIndices places(const std::vector<Index>& of) const {
    RowIndices found;
    for (const Index k : of) found.push_back(among_[static_cast<std::size_t>(k)]);
    return found;
  }

  Block factor_rows(const std::vector<Index>& of) const {
    Block rows(static_cast<Index>(of.size()), rank_);
    for (std::size_t k = 0; k < of.size(); ++k) rows.row(static_cast<Index>(k)) = factor_.row(of[k]).head(rank_);
    return rows;
  }

  // Computes the residual that the landmarks so far leave of the block of these points.
  Block residual(const std::vector<Index>& of) {
    Block out;
    entries_->block(places(of), places(of), &out);
    const Block rows = factor_rows(of);
    out.noalias() -= rows * rows.transpose();
    return out;
  }

  std::vector<Index> accepted(const std::vector<Index>& drawn, Index most) {
    Block rest = residual(drawn);
    std::vector<Index> kept;
    for (Index k = 0; k < rest.rows() && static_cast<Index>(kept.size()) < most; ++k) {
      const double before = left_[drawn[static_cast<std::size_t>(k)]], now = rest(k, k);
      const bool more = now > kTraceOfRounding * all_ / static_cast<double>(left_.size());
      const bool keep = more && random_uniform(seed_, place_++) * before < now;
      if (!keep) {
        // The first proposal has no predecessors in the batch: if it is rejected, its rest is rounding.
        if (k == 0) left_[drawn[0]] = 0;
        continue;
      }
      kept.push_back(drawn[static_cast<std::size_t>(k)]);
      const Vector column = rest.col(k) / std::sqrt(now);
      rest.noalias() -= column * column.transpose();
    }
    return kept;
  }

  void extend(const std::vector<Index>& kept) {
    if (kept.empty()) return;
    const auto count = static_cast<Index>(kept.size());
    const Cholesky own = cholesky(residual(kept));
    Block columns;
    entries_->block(among_, places(kept), &columns);
    const int threads = entries_->threads();
    add_product(&columns, factor_.leftCols(rank_), -factor_rows(kept).transpose(), threads);
    make_room(count);
    each_piece(left_.size(), count, threads, [&](Index first, Index last, Index) {
      auto rows = columns.middleRows(first, last - first);
      own.matrixL().transpose().solveInPlace<Eigen::OnTheRight>(rows);
      factor_.block(first, rank_, last - first, count) = rows;
      left_.segment(first, last - first) -= rows.rowwise().squaredNorm();
    });
    lowest_ = std::min(lowest_, left_.minCoeff());
    left_ = left_.cwiseMax(0.0);
    for (const Index k : kept) left_[k] = 0;
    for (const double place : places(kept)) chosen_.push_back(place);
    rank_ += count;
  }

  Entries* const entries_;
  const RowIndices& among_;
  Vector left_;  // diagonal of the residual
  const double all_;
  const Enough enough_;
  const std::uint64_t seed_;
  std::uint64_t place_ = 0;
  Block factor_;
  Index rank_ = 0;
  double lowest_ = 0;
  RowIndices chosen_;
};

}  // namespace

Landmarks choose_landmarks(Entries* entries, const RowIndices& among, Vector diagonal, const Enough& enough,
                           std::uint64_t seed) {
  return Pivoting(entries, among, std::move(diagonal), enough, seed).run();
}

// --- landmark columns -----------------------------------------------------------------------------------------------
// The columns have landmarks x points numbers, so a chunk of points is computed at a time. Threads take parts of a
// chunk, and each part has its own sum, so that any number of threads gives the same bits.

namespace {

// The share of the largest diagonal entry that is added, to keep a Cholesky factor of nearly dependent columns finite.
constexpr double kJitter = 1e-13;
constexpr Index kChunk = 4096;  // points at once: a block for the engine
constexpr Index kPart = 256;    // points of a thread: columns of some hundred landmarks fit the second-level cache

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
