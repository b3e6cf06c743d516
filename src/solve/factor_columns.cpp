// Builds the columns of the sparse factor, some points at a time: the residual covariance S of each conditioning set,
// entries less the part that landmarks explain, and the scaled last column of S^-1. Only the factor's numbers are
// copied from a device.
#include "solve/vecchia.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace kernweave::solve {
namespace {

constexpr Index kPairsHere = 2048 * 496;       // pairs at once on the host: 2048 points with 30 neighbours
constexpr Index kPairsThere = 1 << 23;         // pairs at once on a device: three lists of them take 200 MB
constexpr Index kMostPairsThere = 1 << 26;     // if memory allows, so that many neighbours leave enough threads
constexpr Index kPartOfMemory = 512;           // bytes of free memory for each pair, which takes a twentieth of them
constexpr double kShareOfMemory = 0.5;         // share of a device's free memory for the landmarks' part
constexpr Index kRowsOfBlock = 32;             // rows of a landmarks' factor that are solved together
constexpr double kVarianceOfRounding = 1e-14;  // a smaller share of a point's variance is rounding

// A matrix stored by rows, since the factor's inner products are of rows.
using ByRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Computes u, the last column of S^-1 over the root of its last number: C'u = e for S = CC'. Skips duplicate points,
// whose conditional variance is zero. Returns false if S is not positive definite.
bool last_column(ByRows* s, double* u, Index slots) {
  const Index n = s->rows();
  std::vector<bool> out(static_cast<std::size_t>(n), false);
  for (Index j = 0; j < n; ++j) {
    const double all = (*s)(j, j);
    double left = all - s->row(j).head(j).squaredNorm();
    out[static_cast<std::size_t>(j)] = j + 1 < n && !(left > kVarianceOfRounding * all);
    if (out[static_cast<std::size_t>(j)]) {
      s->col(j).setZero();
      s->row(j).head(j).setZero();
      (*s)(j, j) = 1;
      continue;
    }
    if (!(left > 0)) return false;
    const double root = std::sqrt(left);
    (*s)(j, j) = root;
    for (Index i = j + 1; i < n; ++i) (*s)(i, j) = ((*s)(i, j) - s->row(i).head(j).dot(s->row(j).head(j))) / root;
  }
  Vector x = Vector::Zero(n);
  x[n - 1] = 1 / (*s)(n - 1, n - 1);
  for (Index j = n - 1; j-- > 0;)
    x[j] = out[static_cast<std::size_t>(j)] ? 0 : -s->col(j).tail(n - 1 - j).dot(x.tail(n - 1 - j)) / (*s)(j, j);
  for (Index k = 0; k + 1 < n; ++k) u[k] = x[k];
  u[slots] = x[n - 1];
  return true;
}

// Returns L^-1 in a form for products by blocks of rows: each diagonal block's inverse, and to its left minus the
// inverse times L.
Block blockwise_inverse(const Block& l) {
  Block inverse = l.triangularView<Eigen::Lower>();
  for (Index from = 0; from < l.rows(); from += kRowsOfBlock) {
    const Index count = std::min(kRowsOfBlock, l.rows() - from);
    const Block own = l.block(from, from, count, count);
    if (from > 0) {  // without this test, Eigen would read at the address of an empty block
      auto before = inverse.block(from, 0, count, from);
      const Block solved = own.triangularView<Eigen::Lower>().solve(Block(-before));
      before = solved;
    }
    inverse.block(from, from, count, count) = own.triangularView<Eigen::Lower>().solve(Block::Identity(count, count));
  }
  return inverse;
}

bool has_room(device::Device* device, Index rank, Index points) {
  device->enter();
  const double needed = static_cast<double>(rank) * static_cast<double>(points) * sizeof(double);
  return needed <= kShareOfMemory * static_cast<double>(device->free_memory());
}

Index pairs_there(device::Device* device) {
  const auto room = static_cast<Index>(device->free_memory()) / kPartOfMemory;
  return std::clamp(room, kPairsThere, kMostPairsThere);
}

class Builder {
 public:
  Builder(const LandmarkResidual& of, device::Device* home, const Poll& poll, SparseFactor* factor)
      : of_(of), factor_(*factor), poll_(poll) {
    rank_ = static_cast<Index>(of.landmarks.size());
    points_ = factor->points();
    home_ = home && has_room(home, rank_, points_) ? home : nullptr;
    at_once_ = std::max<Index>(1, (home_ ? pairs_there(home_) : kPairsHere) / of.pairs.most());
  }

  void run() {
    explain();
    for (Index from = 0; from < points_; from += at_once_) {
      poll_(0.0);
      const PairStarts starts = of_.pairs.starts(from, std::min(at_once_, points_ - from));
      of_.pairs.list(starts, home_, &rows_, &columns_);
      if (home_) rows_.kept()->range = columns_.kept()->range = ValueRange{1, static_cast<double>(rank_ + points_)};
      of_.entries->pairs(rows_, columns_, &numbers_);
      if (home_) fill_gpu(starts);
      else fill_cpu(starts);
    }
  }

 private:
  // Computes L^-1 A[S, R], a column for each point of the rest R.
  void explain() {
    explained_.make(rank_ ? home_ : nullptr, rank_, points_);
    if (!rank_) return;
    const Columns landmarks = places(of_.landmarks.data(), rank_);
    const RowScales inverse(home_ ? flat(blockwise_inverse(of_.cholesky.matrixL())) : Vector());
    Columns some;
    for (Index from = 0; from < points_; from += at_once_) {
      const Index count = std::min(at_once_, points_ - from);
      of_.entries->block(landmarks, places(of_.pairs.order().data() + from, count), &some);
      if (home_) solve_gpu(inverse, some, from);
      else solve_cpu(some.block(), from);
    }
  }

  Columns places(const double* first, Index count) const { return places_on(home_, first, count, rank_ + points_); }
  static Vector flat(const Block& b) { return Eigen::Map<const Vector>(b.data(), b.size()); }

  void user_check_definite(bool yes, Index point) const {
    user_check(yes, Fault::indefinite, "the matrix is not positive definite, as far as point ", point + 1,
               " and its neighbours tell; a ridge may be missing");
  }

  // --- on the host ---

  void solve_cpu(const Block& some, Index from) {
    Block* const to = explained_.here();
    of_.pairs.each_task(some.cols(), [&](Index first, Index n) {
      auto part = to->middleCols(from + first, n);
      part = some.middleCols(first, n);
      of_.cholesky.matrixL().solveInPlace(part);
    });
  }

  void fill_cpu(const PairStarts& starts) {
    of_.pairs.each_point(starts.points(), [&](Index k) {
      fill(starts.from + k, numbers_.block().data() + starts.at[static_cast<std::size_t>(k)]);
    });
  }

  void fill(Index point, const double* numbers) {
    const std::vector<Index> all = of_.pairs.conditioning_set(point);
    const auto n = static_cast<Index>(all.size());
    ByRows s(n, n);
    Block w(rank_, n);
    for (Index a = 0; a < n; ++a) {
      for (Index b = 0; b <= a; ++b) s(a, b) = *numbers++;
      s(a, a) += of_.ridge[all[static_cast<std::size_t>(a)]];
      w.col(a) = explained_.block().col(all[static_cast<std::size_t>(a)]);
    }
    if (rank_) s.selfadjointView<Eigen::Lower>().rankUpdate(w.transpose(), -1.0);
    user_check_definite(last_column(&s, factor_.column(point), factor_.most()), point);
  }

  // --- on a device ---

  void solve_gpu(const RowScales& inverse, const Columns& some, Index from) {
    gpu::ColumnTask task{};
    task.rows = rank_;
    task.x = some.at();
    task.out = explained_.at(from);
    task.values = inverse.on(home_);
    for (Index first = 0; first < rank_; first += kRowsOfBlock) {
      task.together = static_cast<int>(first);
      task.parts = std::min(kRowsOfBlock, rank_ - first);
      task.count = task.parts * some.cols();
      launch(home_, "forward_rows", task);
    }
  }

  void fill_gpu(const PairStarts& starts) {
    const Index sides = factor_.most() / 2 + 1;
    Columns found(home_, factor_.most() + 1, starts.points());
    gpu::ColumnTask task{};
    of_.pairs.describe(starts, home_, &task);
    task.rows = rank_;
    task.x = explained_.at();
    task.out = numbers_.at();
    task.row_values = ridges_.on(home_);
    task.count = starts.points() * (sides * (sides + 1) / 2);
    launch(home_, "entries_left", task);
    task.second = found.at();
    task.by[0] = kVarianceOfRounding;
    task.count = starts.points();
    launch(home_, "last_columns", task);
    const Block some = found.to_host();
    for (Index k = 0; k < some.cols(); ++k) user_check_definite(some(factor_.most(), k) > 0, starts.from + k);
    factor_.put_columns(starts.from, some);
  }

  const LandmarkResidual& of_;
  SparseFactor& factor_;
  const Poll& poll_;
  const RowScales ridges_{of_.ridge};
  Index rank_, points_, at_once_;
  device::Device* home_;
  Columns explained_;
  Columns rows_, columns_, numbers_;  // listed pairs
};

}  // namespace

void build_columns(const LandmarkResidual& of, device::Device* home, const Poll& poll, SparseFactor* factor) {
  Builder(of, home, poll, factor).run();
}

}  // namespace kernweave::solve
