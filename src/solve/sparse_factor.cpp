// Both products are sums over what a row or a column holds, so that threads do not meet.
#include "solve/sparse_factor.hpp"

#include <algorithm>

namespace kernweave::solve {

void SparseFactor::index_rows() {
  const auto n = static_cast<std::size_t>(points());
  starts_.assign(n + 1, 0);
  for (Index i = 0; i < points(); ++i)
    for (Index s = 0; s < most(); ++s)
      if (at_(s, i) >= 0) ++starts_[static_cast<std::size_t>(at_(s, i)) + 1];
  for (std::size_t i = 0; i < n; ++i) starts_[i + 1] += starts_[i];
  columns_.resize(begin(points()));
  row_values_.resize(begin(points()));
  // Each thread looks at all columns for entries of its own rows, which are about as many as another's.
  std::vector<long long> next(starts_.begin(), starts_.end() - 1);
  const auto border = [&](std::int64_t part) {
    if (part == threads_) return static_cast<std::ptrdiff_t>(n);
    const long long before = starts_.back() / threads_ * part;
    return std::lower_bound(starts_.begin(), starts_.end(), before) - starts_.begin();
  };
  share_out(
      threads_, threads_, [](double) {},
      [&](int, std::int64_t part, const Heartbeat&) {
        const auto first = border(part), last = border(part + 1);
        for (Index i = 0; i < points(); ++i)
          for (Index s = 0; s < most(); ++s) {
            const int row = at_(s, i);
            if (row < 0 || row < first || row >= last) continue;
            const auto e = static_cast<std::size_t>(next[static_cast<std::size_t>(row)]++);
            columns_[e] = static_cast<int>(i);
            row_values_[e] = values_(s, i);
          }
      });
}

void SparseFactor::describe_places(device::Device* device, gpu::ColumnTask* task) const {
  task->slots = static_cast<int>(most());
  task->places = at_gpu_.on(device, at_.data(), static_cast<std::size_t>(at_.size()));
}

void SparseFactor::describe(device::Device* device, gpu::ColumnTask* task) const {
  describe_places(device, task);
  task->values = values_gpu_.on(device, values_.data(), static_cast<std::size_t>(values_.size()));
}

void SparseFactor::from_left(const Columns& given, bool transposed, Columns* out) const {
  out->make(given.device(), given.rows(), points());
  if (device::Device* const device = given.device()) {
    gpu::ColumnTask task{};
    describe(device, &task);
    task.count = given.size();
    task.rows = given.rows();
    task.x = given.at();
    task.out = out->at();
    if (transposed) {
      task.starts = starts_gpu_.on(device, starts_.data(), starts_.size());
      task.places = columns_gpu_.on(device, columns_.data(), columns_.size());
      task.row_values = row_values_gpu_.on(device, row_values_.data(), row_values_.size());
    }
    return launch(device, transposed ? "factor_by_rows" : "factor_by_columns", task);
  }
  const Block& x = given.block();
  Block* const y = out->here();
  const auto by_column = [&](Index i) {
    y->col(i) = values_(most(), i) * x.col(i);
    for (Index s = 0; s < most(); ++s)
      if (at_(s, i) >= 0) y->col(i) += values_(s, i) * x.col(at_(s, i));
  };
  const auto by_row = [&](Index i) {
    y->col(i) = values_(most(), i) * x.col(i);
    for (std::size_t e = begin(i); e < begin(i + 1); ++e) y->col(i) += row_values_[e] * x.col(columns_[e]);
  };
  each_piece(points(), x.rows() * (most() + 1), threads_, [&](Index first, Index last, Index) {
    for (Index i = first; i < last; ++i) transposed ? by_row(i) : by_column(i);
  });
}

Vector SparseFactor::squares_of_rows() const {
  Vector sums = values_.row(most()).array().square();
  each_piece(points(), most() + 1, threads_, [&](Index first, Index last, Index) {
    for (Index i = first; i < last; ++i)
      for (std::size_t e = begin(i); e < begin(i + 1); ++e) sums[i] += row_values_[e] * row_values_[e];
  });
  return sums;
}

void SparseFactor::solve_from_left(Block* x) const {
  for (Index i = 0; i < points(); ++i) {
    for (Index s = 0; s < most(); ++s)
      if (at_(s, i) >= 0) x->col(i) -= values_(s, i) * x->col(at_(s, i));
    x->col(i) /= values_(most(), i);
  }
}

}  // namespace kernweave::solve
