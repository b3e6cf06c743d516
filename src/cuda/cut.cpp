// Enough blocks to fill the device, few enough states, launches short enough.
#include "cuda/cut.hpp"

#include <algorithm>

#include "schedule/cost.hpp"

namespace kernweave {
namespace cuda {
namespace {

// Of the rows of one block, for one split.
double bytes_of_block(const Pass& pass) {
  double bytes = 0;
  for (int number : pass.share.outputs) {
    const Output& o = pass.variant->outputs[number];
    if (o.keep != Keep::both) bytes += static_cast<double>(state_bytes(o)) * o.width;
  }
  return bytes * pass.shape.block_rows * pass.shape.parts;
}

}  // namespace

std::int64_t state_bytes(const Output& o) {
  const StateRow& state = row(o.red).state;
  const std::int64_t bytes = static_cast<std::int64_t>(state.size) + ceiling(state.storage(o.places), 8) * 8;
  // A state that has been merged leaves its place to the results of a list (kernweave/gpu/interpret.hpp).
  return o.places > 1 ? std::max<std::int64_t>(bytes, 16 * o.places) : bytes;
}

Cut cut(const Pass& pass, std::int64_t lanes, std::int64_t sweep, int processors, double seconds) {
  const std::int64_t blocks = ceiling(lanes, pass.shape.block_rows);
  if (blocks == 0 || sweep == 0) return {blocks, 1, sweep, std::max<std::int64_t>(1, blocks), std::max<std::int64_t>(1, blocks)};
  const std::int64_t wave = static_cast<std::int64_t>(processors) * kGpuResidentBlocks;
  const int each = pass.by_tiles() ? kGpuProductBlocks : pass.takes_short_way() ? kGpuShortBlocks : kGpuBlocks;
  const std::int64_t to_fill = static_cast<std::int64_t>(processors) * each / blocks;
  const double waves = std::max(1.0, static_cast<double>(blocks) / static_cast<double>(wave));
  const std::int64_t in_time = static_cast<std::int64_t>(seconds / waves / kGpuSecondsOfLaunch) + 1;
  const std::int64_t wanted = std::max(std::min<std::int64_t>(to_fill, sweep / kGpuFewestColumns), std::min(in_time, sweep));
  const std::int64_t split = ceiling(ceiling(sweep, std::max<std::int64_t>(1, wanted)), pass.shape.padding) * pass.shape.padding;
  const std::int64_t splits = ceiling(sweep, split);
  const double bytes = bytes_of_block(pass) * static_cast<double>(splits);
  const std::int64_t fitting = bytes > 0 ? static_cast<std::int64_t>(std::max(1.0, kGpuWorkBytes / bytes)) : blocks;
  const std::int64_t of_launch = ceiling(blocks * splits, static_cast<std::int64_t>(seconds / kGpuSecondsOfLaunch) + 1);
  return {blocks, splits, split, std::min(blocks, splits * pass.shape.parts > 1 ? fitting : blocks), std::max(of_launch, std::min(wave, blocks))};
}

double working_bytes(const Pass& pass, const Cut& cut, std::int64_t lanes, std::int64_t sweep) {
  const double products = static_cast<double>(lanes + sweep) * pass.product.padded_width() + static_cast<double>(sweep) * pass.wide.padded_width();
  const double wide = pass.stores_rows() ? static_cast<double>(lanes) * pass.lanes.total : 0.0;
  const double numbers = products + wide + static_cast<double>(sweep) * pass.sweep.total + pass.once.total;
  const double states = cut.splits * pass.shape.parts > 1 || pass.folds_all() ? bytes_of_block(pass) * static_cast<double>(cut.chunk * cut.splits) : 0.0;
  return numbers * pass.number_bytes() + states;
}

}  // namespace cuda
}  // namespace kernweave
