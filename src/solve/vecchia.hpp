// Vecchia's approximation: a sparse inverse Cholesky factor, its pairs of points, its columns, and kriging at new
// places by the nearest data of each place.
#pragma once
#include <algorithm>
#include <vector>
#include "base/threads.hpp"
#include "solve/block.hpp"
#include "solve/columns.hpp"
#include "solve/operator.hpp"

namespace kernweave::solve {

// --- sparse factor --------------------------------------------------------------------------------------------------
// A sparse upper triangular inverse Cholesky factor (Vecchia). The column of a point has a few slots above the
// diagonal: its neighbours among the points before it. Columns of near points are near in memory, so that reads are
// local.

// Places from 0, a column for each point; -1 for an empty slot.
using Slots = Eigen::Matrix<int, Eigen::Dynamic, Eigen::Dynamic>;

class SparseFactor {
 public:
  // `sequence`: the columns in an order in which each comes after its neighbours.
  SparseFactor(Slots at, std::vector<int> sequence, int threads)
      : at_(std::move(at)),
        sequence_(std::move(sequence)),
        values_(Block::Zero(at_.rows() + 1, at_.cols())),
        threads_(threads) {}

  Index points() const { return at_.cols(); }
  Index most() const { return at_.rows(); }
  int neighbour(Index slot, Index point) const { return at_(slot, point); }
  double* column(Index point) { return values_.col(point).data(); }
  // Returns the columns: a slot for each neighbour, then the point's own slot.
  const Block& columns() const { return values_; }
  double logdet_of_inverse() const { return -2.0 * values_.row(most()).array().log().sum(); }

  // Indexes the numbers by rows; must be called after all columns have been put.
  void index_rows();

  // Computes y = x U or y = x U'; x has a column for each point, so that a point's numbers for all right-hand sides are
  // contiguous.
  void from_left(const Columns& x, bool transposed, Columns* y) const;
  // Returns the diagonal of U U'.
  Vector squares_of_rows() const;
  // Puts the columns of points from number `from` on.
  void put_columns(Index from, const Block& some) { values_.middleCols(from, some.cols()) = some; }
  // Describes the places of numbers to a kernel; describe() adds the numbers, after all columns have been put.
  void describe_places(device::Device* device, gpu::ColumnTask* task) const;
  void describe(device::Device* device, gpu::ColumnTask* task) const;

  // Replaces x by x U^-1: each row becomes the solution of U' y = row. A point's value depends only on the points
  // before it.
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
// The pairs of points within the conditioning sets of Vecchia's approximation, listed on the host or on a device.

// For some points of the order: the start of each point's pairs in a list of all pairs, and the number of pairs.
struct PairStarts {
  PairStarts(Index from, std::vector<long long> at) : from(from), at(std::move(at)) {}
  Index points() const { return static_cast<Index>(at.size()) - 1; }
  Index pairs() const { return static_cast<Index>(at.back()); }

  const Index from;  // the first point
  const std::vector<long long> at;
  const SentCopy copy{};
};

class VecchiaPairs {
 public:
  // `factor` has the neighbours of each point.
  VecchiaPairs(RowIndices order, const SparseFactor& factor, int threads);

  const RowIndices& order() const { return order_; }
  const RowList& rows() const { return rows_; }  // the order as rows from 0
  // Returns a point's neighbours before it, and the point itself.
  std::vector<Index> conditioning_set(Index point) const;
  // Returns the number of pairs of a point with all its neighbours.
  Index most() const { return (factor_.most() + 1) * (factor_.most() + 2) / 2; }

  PairStarts starts(Index from, Index count) const;
  // Lists rows and columns in the matrix, from 1, each pair once: the lower triangle of a conditioning set, row by row.
  void list(const PairStarts& starts, device::Device* home, Columns* rows, Columns* columns) const;
  // Also lists the factor of each entry in the trace of U U' dA. An entry off the diagonal counts for both triangles.
  void list_weighed(const PairStarts& starts, device::Device* home, Columns* rows, Columns* columns,
                    Columns* weights) const;
  // Describes the members of points to a kernel, beside the listed pairs.
  void describe(const PairStarts& starts, device::Device* home, gpu::ColumnTask* task) const;

  // Calls work(first, n) for some points of a list at a time; each_point() calls work(k) for each point.
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

// The matrix that is factored: with a ridge on its diagonal, minus the part that landmarks explain (Schur complement).
struct LandmarkResidual {
  Entries* entries;
  const RowIndices& landmarks;
  const Cholesky& cholesky;  // factor of the matrix at the landmarks
  const VecchiaPairs& pairs;
  const Vector& ridge;  // ridge of each point of the order
};

// Builds the columns, each of which conditions a point on its neighbours (Vecchia), so that the diagonal of U' S U is 1
// for the residual S. Works on `home`, or on the host if `home` is null or has too little memory.
void build_columns(const LandmarkResidual& of, device::Device* home, const Poll& poll, SparseFactor* factor);

// --- local kriging --------------------------------------------------------------------------------------------------
// Local kriging: predicts a Gaussian process at new places, each by the data nearest to it.

struct SeenData {
  RowIndices at;  // rows of the data in the matrix
  Vector ridge;   // noise of each datum
  Block numbers;  // a row for each datum: `responses` columns, 0 or 1, then regressors
  Index responses;
};

struct NewPlaces {
  RowIndices at;     // rows of the places in the matrix
  Slots near;        // a column for each place: numbers of data, from 0
  Block regressors;  // a column for each place
};

// Returns a column for each place: the mean (0 without a response) and the variance. With regressors both are of
// universal kriging, and NaN if a place's data do not determine the coefficients.
Block conditional_local(Entries* entries, const SeenData& data, const NewPlaces& places, const Poll& poll);

}  // namespace kernweave::solve
