// Vecchia's approximation: a sparse inverse Cholesky factor, the pairs of points that it is made of, its columns, and
// kriging at new places by the data nearest to each.
#pragma once
#include <algorithm>
#include <vector>
#include "base/threads.hpp"
#include "solve/block.hpp"
#include "solve/columns.hpp"
#include "solve/operator.hpp"

namespace kernweave::solve {

// --- sparse factor --------------------------------------------------------------------------------------------------
// A sparse upper triangular inverse Cholesky factor (Vecchia): the column of a point has a few slots above the
// diagonal, its neighbours among the points before it. Columns of near points are near in memory, so that reads are
// local.

// Places from 0, a column for each point; -1 for none.
using Slots = Eigen::Matrix<int, Eigen::Dynamic, Eigen::Dynamic>;

class SparseFactor {
 public:
  // `sequence`: the columns so that the points before one come before it.
  SparseFactor(Slots at, std::vector<int> sequence, int threads)
      : at_(std::move(at)),
        sequence_(std::move(sequence)),
        values_(Block::Zero(at_.rows() + 1, at_.cols())),
        threads_(threads) {}

  Index points() const { return at_.cols(); }
  Index most() const { return at_.rows(); }
  int neighbour(Index slot, Index point) const { return at_(slot, point); }
  double* column(Index point) { return values_.col(point).data(); }
  // A slot for each neighbour, then the point's own.
  const Block& columns() const { return values_; }
  double logdet_of_inverse() const { return -2.0 * values_.row(most()).array().log().sum(); }

  // Indexes the numbers by rows, after all columns have been put.
  void index_rows();

  // Computes y = x U or y = x U'; x has a column for each point, so that a point's numbers for all right-hand sides are
  // contiguous.
  void from_left(const Columns& x, bool transposed, Columns* y) const;
  // The diagonal of U U'.
  Vector squares_of_rows() const;
  // Columns for points from number `from` on.
  void put_columns(Index from, const Block& some) { values_.middleCols(from, some.cols()) = some; }
  // Describes the places of numbers to a kernel; describe() adds the numbers, after all columns have been put.
  void describe_places(device::Device* device, gpu::ColumnTask* task) const;
  void describe(device::Device* device, gpu::ColumnTask* task) const;

  // Replaces x by x U^-1: each row by the solution of U' y = row. A point's value depends on the points before it
  // alone.
  void solve_from_left(Block* x) const;

 private:
  // Returns the place where the entries of a row begin.
  std::size_t begin(Index row) const { return static_cast<std::size_t>(starts_[static_cast<std::size_t>(row)]); }

  const Slots at_;
  const std::vector<int> sequence_;
  Block values_;
  const int threads_;
  std::vector<long long> starts_;
  std::vector<int> columns_;
  std::vector<double> row_values_;
  const SentCopy at_gpu_{}, values_gpu_{}, starts_gpu_{}, columns_gpu_{}, row_values_gpu_{};
};

// --- pairs ----------------------------------------------------------------------------------------------------------
// The pairs of points within the conditioning sets of Vecchia's approximation, listed where they are worked on.

// The place where the pairs of each of some points of the order begin in a list of all pairs, and the number of pairs.
struct PairStarts {
  PairStarts(Index from, std::vector<long long> at) : from(from), at(std::move(at)) {}
  Index points() const { return static_cast<Index>(at.size()) - 1; }
  Index pairs() const { return static_cast<Index>(at.back()); }

  const Index from;  // the first of the points
  const std::vector<long long> at;
  const SentCopy copy{};
};

class VecchiaPairs {
 public:
  // `factor` has the neighbours of each point.
  VecchiaPairs(RowIndices order, const SparseFactor& factor, int threads);

  const RowIndices& order() const { return order_; }
  const RowList& rows() const { return rows_; }  // the same, from 0
  // A point's neighbours before it, and itself.
  std::vector<Index> conditioning_set(Index point) const;
  // Pairs of a point that has all its neighbours.
  Index most() const { return (factor_.most() + 1) * (factor_.most() + 2) / 2; }

  PairStarts starts(Index from, Index count) const;
  // Rows and columns in the matrix, from 1, each pair once: the lower triangle of a conditioning set, row by row.
  void list(const PairStarts& starts, device::Device* home, Columns* rows, Columns* columns) const;
  // Lists also the factor of each entry in the trace of U U' dA. Off the diagonal an entry stands for both.
  void list_weighed(const PairStarts& starts, device::Device* home, Columns* rows, Columns* columns,
                    Columns* weights) const;
  // Describes the members of points to a kernel, beside the listed pairs.
  void describe(const PairStarts& starts, device::Device* home, gpu::ColumnTask* task) const;

  // Calls work(first, n) for some points of a list at a time, and work(k) for each.
  template <class Work>
  void each_task(Index count, Work work) const {
    constexpr Index kTask = 32;
    share_out(
        threads_, (count + kTask - 1) / kTask, [](double) {},
        [&](int, std::int64_t task, const Heartbeat&) { work(task * kTask, std::min(kTask, count - task * kTask)); });
  }
  template <class Work>
  void each_point(Index count, Work work) const {
    each_task(count, [&](Index first, Index n) {
      for (Index k = first; k < first + n; ++k) work(k);
    });
  }

 private:
  Index neighbours_of(Index point) const;
  void list_cpu(const PairStarts& starts, double* rows, double* columns) const;
  void list_gpu(const PairStarts& starts, const Columns& rows, const Columns& columns, gpu::ColumnTask task) const;

  const RowIndices order_;
  const RowList rows_;
  const SparseFactor& factor_;
  const int threads_;
};

// --- factor_columns.cpp ---------------------------------------------------------------------------------------------
// Vecchia: builds the columns of the sparse inverse Cholesky factor, on the host or on a GPU.

// The matrix that is factored: with a ridge on its diagonal, less what landmarks explain (a Schur complement).
struct LandmarkResidual {
  Entries* entries;
  const RowIndices& landmarks;
  const Cholesky& cholesky;  // of the matrix at the landmarks
  const VecchiaPairs& pairs;
  const Vector& ridge;  // of each point of the order
};

// Builds the columns, each of which conditions a point on its neighbours (Vecchia): the diagonal of U' S U is 1, S the
// residual. Works on `home`, or on the host if `home` is null or has too little memory.
void build_columns(const LandmarkResidual& of, device::Device* home, const Poll& poll, SparseFactor* factor);

// --- local kriging --------------------------------------------------------------------------------------------------
// Local kriging: a Gaussian process at new places, each by the data nearest to it.

struct SeenData {
  RowIndices at;  // rows of the matrix
  Vector ridge;   // the noise of each
  Block numbers;  // a row each: `responses` columns, 0 or 1, then regressors
  Index responses;
};

struct NewPlaces {
  RowIndices at;     // rows of the matrix
  Slots near;        // a column for each: numbers of data, from 0
  Block regressors;  // a column for each
};

// Returns a column for each place: the mean, 0 without a response, and the variance. With regressors both are those of
// universal kriging, and NaN if a place's data do not determine the coefficients.
Block conditional_local(Entries* entries, const SeenData& data, const NewPlaces& places, const Poll& poll);

}  // namespace kernweave::solve
