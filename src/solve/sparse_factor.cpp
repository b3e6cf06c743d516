// Both products are sums over what a row or a column holds, so that threads do not meet.
#include "solve/sparse_factor.hpp"

#include <algorithm>

namespace kernweave::solve {
namespace {

// Rows that a column is summed up for in registers.
constexpr Index kRowsAtOnce = 8;

// The sum over `count` entries of values times columns of x, rows `Rows` from `x` on.
template <Index Rows>
void add_columns(const double* x, Index stride, const double* values, const int* at, Index count, double* y) {
  double sums[Rows];
  for (Index r = 0; r < Rows; ++r) sums[r] = y[r];
  for (Index e = 0; e < count; ++e) {
    if (at[e] < 0) continue;
    const double value = values[e];
    const double* const from = x + stride * at[e];
    for (Index r = 0; r < Rows; ++r) sums[r] += value * from[r];
  }
  for (Index r = 0; r < Rows; ++r) y[r] = sums[r];
}

void add_columns(const Block& x, const double* values, const int* at, Index count, double* y) {
  Index from = 0;
  for (; from + kRowsAtOnce <= x.rows(); from += kRowsAtOnce)
    add_columns<kRowsAtOnce>(x.data() + from, x.rows(), values, at, count, y + from);
  for (; from + 2 <= x.rows(); from += 2)
    add_columns<2>(x.data() + from, x.rows(), values, at, count, y + from);
  if (from < x.rows()) add_columns<1>(x.data() + from, x.rows(), values, at, count, y + from);
}

}  // namespace

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
  each_piece(points(), x.rows() * (most() + 1), threads_, [&](Index first, Index last, Index) {
    for (Index i = first; i < last; ++i) {
      double* const to = y->col(i).data();
      y->col(i) = values_(most(), i) * x.col(i);
      if (!transposed) add_columns(x, values_.col(i).data(), at_.col(i).data(), most(), to);
      else add_columns(x, row_values_.data() + begin(i), columns_.data() + begin(i),
                       static_cast<Index>(begin(i + 1) - begin(i)), to);
    }
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
  for (const Index i : sequence_) {
    for (Index s = 0; s < most(); ++s)
      if (at_(s, i) >= 0) x->col(i) -= values_(s, i) * x->col(at_(s, i));
    x->col(i) /= values_(most(), i);
  }
}

}  // namespace kernweave::solve
