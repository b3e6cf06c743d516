// Pairs are listed by threads on the host, by a kernel on a device, which finds each pair by its number.
#include "solve/vecchia_pairs.hpp"

namespace kernweave::solve {

VecchiaPairs::VecchiaPairs(RowIndices order, const SparseFactor& factor, int threads)
    : order_(std::move(order)), rows_(rows_at(order_)), factor_(factor), threads_(threads) {}

Index VecchiaPairs::neighbours_of(Index point) const {
  Index n = factor_.most();
  while (n > 0 && factor_.neighbour(n - 1, point) < 0) --n;
  return n;
}

std::vector<Index> VecchiaPairs::conditioning_set(Index point) const {
  std::vector<Index> all(static_cast<std::size_t>(neighbours_of(point)) + 1);
  for (std::size_t s = 0; s + 1 < all.size(); ++s) all[s] = factor_.neighbour(static_cast<Index>(s), point);
  all.back() = point;
  return all;
}

PairStarts VecchiaPairs::starts(Index from, Index count) const {
  std::vector<long long> at(static_cast<std::size_t>(count) + 1, 0);
  for (Index k = 0; k < count; ++k) {
    const long long n = neighbours_of(from + k) + 1;
    at[static_cast<std::size_t>(k) + 1] = at[static_cast<std::size_t>(k)] + n * (n + 1) / 2;
  }
  return {from, std::move(at)};
}

void VecchiaPairs::describe(const PairStarts& starts, device::Device* home, gpu::ColumnTask* task) const {
  factor_.describe_places(home, task);
  task->together = static_cast<int>(starts.from);
  task->starts = starts.copy.on(home, starts.at.data(), starts.at.size());
}

void VecchiaPairs::list_gpu(const PairStarts& starts, const Columns& rows, const Columns& columns,
                                gpu::ColumnTask task) const {
  device::Device* const home = rows.device();
  describe(starts, home, &task);
  task.count = starts.points() * most();
  task.x_at = rows_.on(home);
  task.out = rows.at();
  task.second = columns.at();
  launch(home, "listed_pairs", task);
}

void VecchiaPairs::list_cpu(const PairStarts& starts, double* rows, double* columns) const {
  each_point(starts.points(), [&](Index k) {
    const std::vector<Index> all = conditioning_set(starts.from + k);
    auto to = static_cast<std::size_t>(starts.at[static_cast<std::size_t>(k)]);
    for (std::size_t a = 0; a < all.size(); ++a)
      for (std::size_t b = 0; b <= a; ++b, ++to) {
        rows[to] = order_[static_cast<std::size_t>(all[a])];
        columns[to] = order_[static_cast<std::size_t>(all[b])];
      }
  });
}

void VecchiaPairs::list(const PairStarts& starts, device::Device* home, Columns* rows, Columns* columns) const {
  rows->make(home, starts.pairs(), 1);
  columns->make(home, starts.pairs(), 1);
  if (home) list_gpu(starts, *rows, *columns, {});
  else list_cpu(starts, rows->here()->data(), columns->here()->data());
}

void VecchiaPairs::list_weighed(const PairStarts& starts, device::Device* home, Columns* rows, Columns* columns,
                                  Columns* weights) const {
  if (!home) {
    list(starts, home, rows, columns);
    weights->make(home, starts.pairs(), 1);
    double* const to = weights->here()->data();
    return each_point(starts.points(), [&](Index k) {
      const auto u = factor_.columns().col(starts.from + k);
      const Index n = neighbours_of(starts.from + k);
      const auto number = [&](Index m) { return u[m == n ? factor_.most() : m]; };
      double* weight = to + starts.at[static_cast<std::size_t>(k)];
      for (Index a = 0; a <= n; ++a)
        for (Index b = 0; b <= a; ++b) *weight++ = (a == b ? 1 : 2) * number(a) * number(b);
    });
  }
  for (Columns* const made : {rows, columns, weights}) made->make(home, starts.pairs(), 1);
  gpu::ColumnTask task{};
  factor_.describe(home, &task);
  task.third = weights->at();
  list_gpu(starts, *rows, *columns, task);
}

}  // namespace kernweave::solve
