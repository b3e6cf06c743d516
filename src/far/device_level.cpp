// Computes a level on a GPU, by batches of one class and permutation. The result of each pair is stored, then the
// results of a target are added up in a fixed order, so sums have the same bits each time.
#include "far/device_product.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace kernweave {
namespace far {
namespace {

using gpu::FarTask;

static_assert(gpu::kFarDegrees<1> == kMostDegreesOf<1> && gpu::kFarDegrees<2> == kMostDegreesOf<2> &&
              gpu::kFarDegrees<3> == kMostDegreesOf<3> && gpu::kFarRowsOfBlock == kRowsOfBlock);

constexpr std::size_t kWaitingBytes = std::size_t{1} << 30;  // the most bytes of stored results
constexpr std::int64_t kSharedBytes = 110 * 1024;            // the most bytes of a batch: two fit on a multiprocessor

std::int64_t bytes_of(std::int64_t numbers) { return numbers * static_cast<std::int64_t>(sizeof(double)); }

}  // namespace

template <int D>
DeviceLevel<D>::DeviceLevel(Device* device, const Level<D>& level, const TreePair<D>& trees, std::size_t number,
                            int power, const arrays::Workers& workers)
    : device_(device),
      spread_(Spread::of(power, D)),
      terms_(level.terms.count()),
      padded_(level.terms.padded()),
      degrees_(level.terms.terms().degrees),
      half_(level.half),
      targets_(device, trees.cube, trees.targets.boxes[number], level.targets, half_, gpu::kFarEvaluated),
      sources_(device, trees.cube, trees.sources.boxes[number], level.sources, half_, gpu::kFarRange) {
  send_terms(level.terms);
  send_matrices(level);
  for (width_ = gpu::kFarMostBatch; width_ > 1 && shared_bytes() > kSharedBytes;) width_ /= 2;
  send_pairs(level, workers);
}

template <int D>
std::int64_t DeviceLevel<D>::shared_bytes() const {
  return bytes_of(gpu::far_apply_numbers(padded_, width_));
}

template <int D>
void DeviceLevel<D>::add(const DevicePoints<D>& targets, const DevicePoints<D>& sources, const double* weights,
                        double* sums, const ExpansionBuffers& buffers) const {
  FarTask task{};
  task.spread = spread_;
  task.half = half_;
  task.set = pointer_to<int>(set_);
  task.ends = pointer_to<int>(ends_);
  task.degrees = degrees_;
  task.terms = terms_;
  task.stride = padded_;
  find_moments(task, sources, weights, buffers);
  task.centres = pointer_to<gpu::FarCentre>(targets_.centres);
  for (const DeviceBatches& pairs : pairs_) apply(task, pairs, buffers);
  task.points = pointer_to<double>(targets.lie->components);
  task.behind = targets.count;
  task.sums = sums;
  task.ranges = pointer_to<gpu::PointRange>(targets_.ranges);
  task.expansions = pointer_to<double>(buffers.locals);
  launch(device_, D, "far_evaluated",
         {targets_.range_count, 1, gpu::kFarEvaluated, bytes_of(power(degrees_, D))}, task);
}

template <int D>
void DeviceLevel<D>::find_moments(FarTask task, const DevicePoints<D>& sources, const double* weights,
                                 const ExpansionBuffers& buffers) const {
  task.points = pointer_to<double>(sources.lie->components);
  task.behind = sources.count;
  task.weights = weights;
  task.ranges = pointer_to<gpu::PointRange>(sources_.ranges);
  task.centres = pointer_to<gpu::FarCentre>(sources_.centres);
  task.expansions = pointer_to<double>(has_parts() ? buffers.parts : buffers.moments);
  launch(device_, D, "far_moments",
         {sources_.range_count, spread_.count(), gpu::kFarThreads, bytes_of(gpu::far_moments_numbers<D>(degrees_))},
         task);
  if (!has_parts()) return;
  task.parts = task.expansions;
  task.part_starts = pointer_to<int>(sources_.starts);
  task.expansions = pointer_to<double>(buffers.moments);
  launch(device_, D, "far_added", {sources_.count, spread_.count()}, task);
}

template <int D>
void DeviceLevel<D>::apply(FarTask task, const DeviceBatches& pairs, const ExpansionBuffers& buffers) const {
  task.expansions = pointer_to<double>(buffers.moments);
  task.batches = pointer_to<gpu::FarBatch>(pairs.batch);
  task.sources = pointer_to<int>(pairs.sources);
  task.permuted = pointer_to<int>(permuted_);
  task.starts = pointer_to<int>(starts_);
  task.columns = pointer_to<int>(columns_);
  task.numbers = pointer_to<double>(numbers_);
  task.blocks = blocks_;
  task.width = width_;
  task.found = pointer_to<double>(buffers.waiting);
  launch(device_, D, "far_apply", {pairs.batches, spread_.count(), gpu::kFarThreads, shared_bytes()}, task);
  task.expansions = pointer_to<double>(buffers.locals);
  task.pair_starts = pointer_to<int>(pairs.starts);
  task.pairs = pointer_to<int>(pairs.numbers);
  task.first = pairs.first_target;
  task.of_sources = pointer_to<gpu::FarCentre>(sources_.centres);
  launch(device_, D, "far_collected", {pairs.targets, spread_.count()}, task);
}

template <int D>
void DeviceLevel<D>::send_terms(const LevelTerms<D>& terms) {
  const Terms of = terms.terms();
  set_ = sent(device_, std::vector<int>(of.set, of.set + terms_));
  ends_ = sent(device_, std::vector<int>(of.ends, of.ends + power(degrees_, D - 1)));
  std::vector<int> permuted;
  for (int number = 0; number < kSignedPermutations; ++number) {
    const auto& permutation = terms.permutation(number);
    for (std::size_t k = 0; k < static_cast<std::size_t>(terms_); ++k)
      permuted.push_back(permutation.place.empty() ? 0
                         : permutation.sign[k] < 0 ? ~permutation.place[k]
                                                   : permutation.place[k]);
  }
  permuted_ = sent(device_, permuted);
}

template <int D>
void DeviceLevel<D>::send_matrices(const Level<D>& level) {
  std::vector<int> starts, columns;
  std::vector<double> numbers;
  blocks_ = padded_ / kRowsOfBlock;
  for (std::size_t c = 0; c < level.classes.size(); ++c) {
    const M2LMatrix& matrix = level.terms.matrix(static_cast<int>(c));
    const auto before = static_cast<int>(columns.size());
    for (std::size_t b = 0; b <= static_cast<std::size_t>(blocks_); ++b)
      starts.push_back(before + (matrix.first.empty() ? 0 : matrix.first[b]));
    columns.insert(columns.end(), matrix.columns.begin(), matrix.columns.end());
    numbers.insert(numbers.end(), matrix.numbers.begin(), matrix.numbers.end());
  }
  starts_ = sent(device_, starts);
  columns_ = sent(device_, columns);
  numbers_ = sent(device_, numbers);
}

// Uploads the pairs of several ranges of targets at once: as many ranges as the buffer for results of pairs holds.
template <int D>
void DeviceLevel<D>::send_pairs(const Level<D>& level, const arrays::Workers& workers) {
  const std::size_t most = kWaitingBytes / static_cast<std::size_t>(bytes_of(numbers()));
  const auto send = [&](std::size_t first, std::size_t last) {
    send_lists(m2l_batches<D>(level, first, last, width_, workers));
  };
  std::size_t first = 0, together = 0;
  for (std::size_t range = 0; range < level.far.size(); ++range) {
    const std::size_t own = level.far[range].size();
    if (together > 0 && together + own > most) {
      send(first, range);
      first = range;
      together = 0;
    }
    together += own;
  }
  send(first, level.far.size());
}

template <int D>
void DeviceLevel<D>::send_lists(const M2LBatches& lists) {
  if (lists.sources.empty()) return;
  DeviceBatches out;
  out.first_target = lists.first_target;
  out.targets = static_cast<int>(lists.starts.size()) - 1;
  out.batches = static_cast<int>(lists.batches.size());
  out.count = static_cast<int>(lists.sources.size());
  out.batch = sent(device_, lists.batches);
  out.sources = sent(device_, lists.sources);
  out.starts = sent(device_, lists.starts);
  out.numbers = sent(device_, lists.numbers);
  most_pairs_ = std::max(most_pairs_, out.count);
  pairs_.push_back(std::move(out));
}

template class DeviceLevel<1>;
template class DeviceLevel<2>;
template class DeviceLevel<3>;

// --- M2L batches ----------------------------------------------------------------------------------------------------
// Counts, then places, the pairs of a group of ranges in one thread. All pairs of a target are in one range.

namespace {

constexpr std::size_t kTogether = 8;  // the number of ranges of a group

std::size_t class_of_pair(const Interaction& pair) {
  return static_cast<std::size_t>(pair.offset_class * kSignedPermutations + pair.permutation);
}

// Replaces a group's number of pairs of a kind by the place of its first. Returns the start of each kind, and the end.
std::vector<int> placed(std::vector<std::vector<int>>* counts, std::size_t kinds) {
  std::vector<int> starts(kinds + 1, 0);
  for (const std::vector<int>& own : *counts)
    for (std::size_t k = 0; k < kinds; ++k) starts[k + 1] += own[k];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<int> next = starts;
  for (std::vector<int>& own : *counts)
    for (std::size_t k = 0; k < kinds; ++k) next[k] += std::exchange(own[k], next[k]);
  return starts;
}

std::vector<gpu::FarBatch> batches_of(const std::vector<int>& starts, int width) {
  std::vector<gpu::FarBatch> batches;
  for (std::size_t k = 0; k + 1 < starts.size(); ++k)
    for (int at = starts[k]; at < starts[k + 1]; at += width)
      batches.push_back({at, std::min(width, starts[k + 1] - at), static_cast<int>(k) / kSignedPermutations,
                         static_cast<int>(k) % kSignedPermutations});
  return batches;
}

}  // namespace

template <int D>
M2LBatches m2l_batches(const Level<D>& level, std::size_t first, std::size_t last, int width,
                     const arrays::Workers& workers) {
  const std::size_t kinds = level.classes.size() * kSignedPermutations;
  const auto target_of = [&](const Interaction& pair) {
    return static_cast<std::size_t>(level.targets.number[static_cast<std::size_t>(pair.target)]);
  };
  // Calls f(group, pair) for each expanded pair. A group has several ranges, since it stores a count of every kind.
  const auto groups = static_cast<Index>((last - first + kTogether - 1) / kTogether);
  const auto each_in_groups = [&](auto f) {
    arrays::each_task(workers, groups, [&](Index group) {
      const std::size_t begin = first + static_cast<std::size_t>(group) * kTogether;
      for (std::size_t s = begin; s < std::min(last, begin + kTogether); ++s)
        for (const Interaction& pair : level.far[s])
          if (pair.permutation != Interaction::kSkipped) f(static_cast<std::size_t>(group), pair);
    });
  };
  std::vector<std::vector<int>> next(static_cast<std::size_t>(groups), std::vector<int>(kinds, 0));
  std::vector<int> of_target(static_cast<std::size_t>(level.targets.count), 0);
  each_in_groups([&](std::size_t group, const Interaction& pair) {
    ++next[group][class_of_pair(pair)];
    ++of_target[target_of(pair)];
  });
  M2LBatches out;
  const std::vector<int> starts = placed(&next, kinds);
  out.batches = batches_of(starts, width);
  const auto is_met = [](int count) { return count > 0; };
  const auto from = std::find_if(of_target.begin(), of_target.end(), is_met);
  const auto to = std::find_if(of_target.rbegin(), of_target.rend(), is_met).base();
  if (starts.back() == 0) return out;
  out.first_target = static_cast<int>(from - of_target.begin());
  out.starts.assign(1, 0);
  std::partial_sum(from, to, std::back_inserter(out.starts));
  out.sources.resize(static_cast<std::size_t>(starts.back()));
  out.numbers.resize(out.sources.size());
  std::vector<int> at_target = out.starts;
  each_in_groups([&](std::size_t group, const Interaction& pair) {
    const int at = next[group][class_of_pair(pair)]++;
    out.sources[static_cast<std::size_t>(at)] = level.sources.number[static_cast<std::size_t>(pair.source)];
    int& place = at_target[target_of(pair) - static_cast<std::size_t>(out.first_target)];
    out.numbers[static_cast<std::size_t>(place++)] = at;
  });
  return out;
}

template M2LBatches m2l_batches(const Level<1>&, std::size_t, std::size_t, int, const arrays::Workers&);
template M2LBatches m2l_batches(const Level<2>&, std::size_t, std::size_t, int, const arrays::Workers&);
template M2LBatches m2l_batches(const Level<3>&, std::size_t, std::size_t, int, const arrays::Workers&);

}  // namespace far
}  // namespace kernweave
