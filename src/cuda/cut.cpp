// Number of splits and length of launches: enough blocks to fill the device, few enough states, launches short enough.
#include "cuda/cut.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/memory_needs.hpp"
#include "cuda/limits.hpp"

namespace kernweave {
namespace cuda {
namespace {

// Splits of a group. One thread merges the states of a row's splits, a group's and then those of the groups, which is
// shortest where both are as many. No window divides a group, so its points take no more than may be on a device.
std::int64_t group_of(const Pass& pass, std::int64_t splits, std::int64_t split) {
  if (pass.interpreted() || splits < kGpuFewestGrouped) return 1;
  const double shortest = std::ceil(std::sqrt(static_cast<double>(splits))),
               fitting = kGpuSplitBytes / (static_cast<double>(split) * bytes_of_column(pass));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(shortest, fitting)));
}

// Blocks for each multiprocessor, at most.
int most_blocks(const Pass& pass) {
  if (pass.nearest) return kGpuNearestBlocks;
  if (pass.by_tiles()) return kGpuProductBlocks;
  if (pass.picks()) return kGpuPickBlocks;
  return pass.takes_short_way() ? kGpuShortBlocks : kGpuBlocks;
}

// Number of splits, from so many down to half as many, that leaves the fewest processors idle while the last blocks
// finish: a device takes blocks wave by wave.
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

// Blocks times splits of a launch: whole waves, since a last one of less than a wave takes as long as a whole one.
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

}  // namespace cuda
}  // namespace kernweave
