// The pairs of points within the conditioning sets of Vecchia's approximation, listed where they are worked on.
#pragma once
#include <algorithm>
#include <vector>
#include "base/threads.hpp"
#include "solve/entries.hpp"
#include "solve/sparse_factor.hpp"

namespace kernweave::solve {

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
  // `factor` says who the neighbours are.
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
  // Describes what a kernel reads beside the listed pairs.
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

}  // namespace kernweave::solve
