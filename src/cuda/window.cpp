// Size of a window. All columns pass by each window of rows, so rows get most of the memory: columns have a quarter, or
// what a group of splits takes.
#include "cuda/window.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "cuda/limits.hpp"

namespace kernweave {
namespace cuda {
namespace {

std::int64_t whole_steps(double points, std::int64_t step, std::int64_t most) {
  if (!(points < static_cast<double>(most))) return most;
  return static_cast<std::int64_t>(std::max(points, 0.0)) / step * step;
}

// Points of the lane axis that have room beside so many of the sweep axis.
std::int64_t lanes_beside(std::int64_t sweep, const Needs& needs, double room, std::int64_t block, std::int64_t most) {
  const double points = static_cast<double>(sweep), each = needs.lane + needs.pair * points;
  return whole_steps(each > 0 ? (room - needs.sweep * points) / each : INFINITY, block, most);
}

}  // namespace

std::vector<Range> pieces(const Range& all, std::int64_t size) {
  std::vector<Range> out;
  std::int64_t from = all.from;
  do {
    out.push_back({from, std::min(all.to, from + std::max<std::int64_t>(1, size))});
    from = out.back().to;
  } while (from < all.to);
  return out;
}

Windows fitting(const Needs& needs, const Pass& pass, const SweepCut& cut, const Range& lanes, std::int64_t sweep,
                double budget) {
  const std::int64_t blocks = ceiling(lanes.size(), pass.shape.block_rows);
  const double waiting = needs.state * static_cast<double>(cut.splits);
  const double for_states = std::min({kGpuWorkBytes, budget / 4, waiting * static_cast<double>(blocks)});
  const auto chunk = [&](std::int64_t points) {
    const double each =
        needs.state * (cut.split > 0 ? std::ceil(static_cast<double>(points) / static_cast<double>(cut.split)) : 1.0);
    return std::max<std::int64_t>(
        1, whole_steps(each > 0 ? for_states / each : INFINITY, 1, std::max<std::int64_t>(1, blocks)));
  };
  if (needs.all(lanes.size(), sweep) + for_states <= budget) return {lanes.size(), sweep, chunk(sweep), true};
  const double room = budget - for_states - needs.fixed;
  const std::int64_t step = std::max<std::int64_t>(1, cut.together());
  std::int64_t columns =
      std::max(std::min(step, sweep), whole_steps(needs.sweep > 0 ? room / 4 / needs.sweep : INFINITY, step, sweep));
  std::int64_t rows = lanes_beside(columns, needs, room, pass.shape.block_rows, lanes.size());
  if (rows == 0) rows = lanes_beside(columns = std::min(step, sweep), needs, room, pass.shape.block_rows, lanes.size());
  const std::int64_t fewest = std::min<std::int64_t>(pass.shape.block_rows, lanes.size());
  if (rows < fewest)
    fail(Fault::memory, "this call needs at least ",
         static_cast<std::int64_t>(needs.all(fewest, std::min(step, sweep)) + for_states) / 1000000 + 1,
         " MB on the GPU; it may take ", static_cast<std::int64_t>(budget) / 1000000);
  return {rows, columns, chunk(columns), false};
}

}  // namespace cuda
}  // namespace kernweave
