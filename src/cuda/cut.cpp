// Chooses the number of splits and the length of launches: blocks fill the device, states are few, launches are short.
#include "cuda/cut.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "cuda/limits.hpp"
#include "kernweave/gpu/script.hpp"
#include "kernweave/red/Kmin_argKmin.hpp"

namespace kernweave {
namespace cuda {

namespace {

// Returns the number of splits of a group. One thread merges the states of a group, and then one thread those of all
// groups: fastest with sqrt(splits) splits in a group. No window divides a group, so it must fit kGpuSplitBytes.
std::int64_t group_of(const Pass& pass, std::int64_t splits, std::int64_t split) {
  if (pass.interpreted() || splits < kGpuFewestGrouped) return 1;
  const double shortest = std::ceil(std::sqrt(static_cast<double>(splits))),
               fitting = kGpuSplitBytes / (static_cast<double>(split) * bytes_of_column(pass));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(shortest, fitting)));
}

// Returns the most blocks for each multiprocessor.
int most_blocks(const Pass& pass) {
  if (pass.nearest) return kGpuNearestBlocks;
  if (pass.wide.softens) return kGpuSoftBlocks;
  if (pass.by_tiles()) return kGpuProductBlocks;
  if (pass.picks()) return kGpuPickBlocks;
  return pass.takes_short_way() ? kGpuShortBlocks : kGpuBlocks;
}

// Returns the number of splits, from most / 2 to `most`, that leaves the fewest processors idle in the last wave of
// blocks.
std::int64_t filling(std::int64_t blocks, std::int64_t most, std::int64_t wave) {
  const std::int64_t most_waves = ceiling(blocks * most, wave);
  std::int64_t best = most;
  double least = static_cast<double>(most_waves) / static_cast<double>(most);
  for (std::int64_t waves = most_waves - 1; waves >= 1; --waves) {
    const std::int64_t splits = waves * wave / blocks;
    if (splits < 1 || 2 * splits < most) break;
    const double share = static_cast<double>(waves) / static_cast<double>(splits);
    if (share >= least) continue;
    least = share;
    best = splits;
  }
  return best;
}

// Returns blocks times splits of a launch: whole waves, since a part of a wave takes as long as a whole wave.
std::int64_t of_launch(std::int64_t all, std::int64_t wave, double seconds) {
  const std::int64_t launches = static_cast<std::int64_t>(seconds / kGpuSecondsOfLaunch) + 1;
  return std::min(all, ceiling(all, launches * wave) * wave);
}

}  // namespace

SweepCut cut(const Pass& pass, std::int64_t lanes, std::int64_t sweep, const AtOnce& at_once, double seconds,
        std::int64_t told) {
  const std::int64_t blocks = ceiling(lanes, pass.shape.block_rows), processors = at_once.processors;
  if (blocks == 0 || sweep == 0) return {blocks, 1, sweep, 1, std::max<std::int64_t>(1, blocks)};
  const std::int64_t wave = processors * at_once.blocks;
  const std::int64_t most_splits =
      std::min<std::int64_t>(processors * most_blocks(pass) / blocks, sweep / kGpuFewestColumns);
  const std::int64_t to_fill = most_splits > 1 ? filling(blocks, most_splits, wave) : 1;
  const double waves = std::max(1.0, static_cast<double>(blocks) / static_cast<double>(wave));
  const std::int64_t in_time = static_cast<std::int64_t>(seconds / waves / kGpuSecondsOfLaunch) + 1;
  const std::int64_t in_memory =
      static_cast<std::int64_t>(static_cast<double>(sweep) * bytes_of_column(pass) / kGpuSplitBytes) + 1;
  const std::int64_t wanted = std::max(to_fill, std::min(std::max(in_time, in_memory), sweep));
  const std::int64_t points = told > 0 ? std::min(told, sweep) : ceiling(sweep, wanted);
  const std::int64_t split = ceiling(points, pass.shape.padding) * pass.shape.padding;
  const std::int64_t splits = ceiling(sweep, split);
  return {blocks, splits, split, group_of(pass, splits, split), of_launch(blocks * splits, wave, seconds)};
}

// --- window --------------------------------------------------------------------------------------------------------
// The size of a window. All columns are swept for each window of rows, so rows get most of the memory: columns get a
// quarter, or the memory that a group of splits needs.

namespace {

std::int64_t whole_steps(double points, std::int64_t step, std::int64_t most) {
  if (!(points < static_cast<double>(most))) return most;
  return static_cast<std::int64_t>(std::max(points, 0.0)) / step * step;
}

// Returns the number of points of the lane axis that fit beside `sweep` points of the sweep axis.
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

// --- memory needs --------------------------------------------------------------------------------------------------
// Counts bytes from panels, states and widths.

namespace {

double bytes_of_block(const Pass& pass) {
  std::int64_t bytes = 0;
  for (int number : pass.group.outputs) {
    const Output& o = pass.variant->outputs[number];
    if (o.keep == pass.lane_keep()) bytes += state_bytes(pass, o) * o.width;
  }
  return static_cast<double>(bytes) * pass.shape.block_rows * pass.shape.parts;
}

}  // namespace

double Needs::all(std::int64_t lanes, std::int64_t sweep) const {
  const double m = static_cast<double>(lanes), n = static_cast<double>(sweep);
  return lane * m + this->sweep * n + pair * m * n + fixed;
}

Needs needs_of(const Pass& pass) {
  const double halves = pass.product.any() ? static_cast<double>(pass.product_bytes() + 8) : 0.0;
  const double weights = pass.wide.any() ? static_cast<double>(pass.weight_bytes()) : 0.0;
  Needs needs;
  needs.lane = halves + (pass.stores_rows() ? pass.lanes.total * pass.number_bytes() : 0);
  needs.sweep = halves + weights + pass.sweep.total * pass.number_bytes();
  needs.state = bytes_of_block(pass);
  needs.fixed = pass.once.total * pass.number_bytes();
  return needs;
}

double bytes_of_column(const Pass& pass) {
  const Axis axis = pass.group.along_i ? Axis::j : Axis::i;
  double bytes = needs_of(pass).sweep;
  for (const Variable& v : pass.plan->variables)
    if (v.axis == axis && v.source != Source::counter) bytes += v.width * 8;
  return bytes;
}

std::int64_t state_bytes(const Pass& pass, const Output& o) {
  constexpr std::int64_t kOne = sizeof(red::KMinArgKMinOf<Scalar<double>, 1>),
                         kTwo = sizeof(red::KMinArgKMinOf<Scalar<double>, 2>);
  if (!pass.interpreted() && is_short_list(o)) return kOne + (o.places - 1) * (kTwo - kOne);
  const std::int64_t bytes = row(o.red).state.bytes(o.places);
  // The results of a list overwrite its merged state.
  return o.places > 1 ? std::max<std::int64_t>(bytes, gpu::kResultBytes * o.places) : bytes;
}

}  // namespace cuda
}  // namespace kernweave
