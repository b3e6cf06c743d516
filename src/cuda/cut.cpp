// Enough blocks to fill the device, few enough states, launches short enough.
#include "cuda/cut.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/needs.hpp"
#include "schedule/cost.hpp"

namespace kernweave {
namespace cuda {
namespace {

// One thread merges what a row's splits have left, so the longest way is through a group and then the groups: shortest where both
// are as many. No window divides a group, so it is no more than what may be on a device at a time.
std::int64_t group_of(const Pass& pass, std::int64_t splits, std::int64_t split) {
  if (pass.interpreted() || splits < kGpuFewestGrouped) return 1;
  const double shortest = std::ceil(std::sqrt(static_cast<double>(splits))), fitting = kGpuSplitBytes / (static_cast<double>(split) * bytes_of_column(pass));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(shortest, fitting)));
}

}  // namespace

Cut cut(const Pass& pass, std::int64_t lanes, std::int64_t sweep, int processors, double seconds) {
  const std::int64_t blocks = ceiling(lanes, pass.shape.block_rows);
  if (blocks == 0 || sweep == 0) return {blocks, 1, sweep, 1, std::max<std::int64_t>(1, blocks)};
  const std::int64_t wave = static_cast<std::int64_t>(processors) * kGpuResidentBlocks;
  const int each = pass.nearest ? kGpuNearestBlocks : pass.by_tiles() ? kGpuProductBlocks : pass.takes_short_way() ? kGpuShortBlocks : kGpuBlocks;
  const std::int64_t to_fill = static_cast<std::int64_t>(processors) * each / blocks;
  const double waves = std::max(1.0, static_cast<double>(blocks) / static_cast<double>(wave));
  const std::int64_t in_time = static_cast<std::int64_t>(seconds / waves / kGpuSecondsOfLaunch) + 1;
  const std::int64_t in_memory = static_cast<std::int64_t>(static_cast<double>(sweep) * bytes_of_column(pass) / kGpuSplitBytes) + 1;
  const std::int64_t wanted = std::max(std::min<std::int64_t>(to_fill, sweep / kGpuFewestColumns), std::min(std::max(in_time, in_memory), sweep));
  const std::int64_t split = ceiling(ceiling(sweep, std::max<std::int64_t>(1, wanted)), pass.shape.padding) * pass.shape.padding;
  const std::int64_t splits = ceiling(sweep, split);
  const std::int64_t of_launch = ceiling(blocks * splits, static_cast<std::int64_t>(seconds / kGpuSecondsOfLaunch) + 1);
  return {blocks, splits, split, group_of(pass, splits, split), std::max(of_launch, std::min(wave, blocks))};
}

}  // namespace cuda
}  // namespace kernweave
