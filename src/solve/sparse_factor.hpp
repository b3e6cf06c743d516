// A sparse upper triangular inverse Cholesky factor (Vecchia): the column of a point has a few slots above the
// diagonal, its neighbours among the points before it. Columns lie in an order of their own, near ones together, so
// that what they read of each other does, too.
#pragma once
#include <vector>
#include "solve/columns.hpp"
#include "solve/column_kernels.hpp"

namespace kernweave::solve {

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

  // Once the columns are there: the same numbers by rows.
  void index_rows();

  // y = x U and y = x U', where x has a column for each point: what a neighbour has for several right-hand sides lies
  // together.
  void from_left(const Columns& x, bool transposed, Columns* y) const;
  // The diagonal of U U'.
  Vector squares_of_rows() const;
  // Columns for points from number `from` on.
  void put_columns(Index from, const Block& some) { values_.middleCols(from, some.cols()) = some; }
  // Describes the places to a kernel, which are there from the start; describe() adds the numbers, once they are there.
  void describe_places(device::Device* device, gpu::ColumnTask* task) const;
  void describe(device::Device* device, gpu::ColumnTask* task) const;

  // x becomes x U^-1, that is the solutions y of U' y = x for right-hand sides that are rows: what a column says of its
  // point needs the points before it alone.
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

}  // namespace kernweave::solve
