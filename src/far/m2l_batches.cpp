// Groups of ranges are counted, then placed, each by one thread: all pairs of a target are in one range.
#include "far/device_product.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace kernweave {
namespace far {
namespace {

constexpr std::size_t kTogether = 8;  // ranges of a group

std::size_t class_of_pair(const Interaction& pair) {
  return static_cast<std::size_t>(pair.offset_class * kSignedPermutations + pair.permutation);
}

// Counts of each kind in each group become where its pairs are placed; where each kind begins, and the end.
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
  // f(group, pair): several ranges are the work of one thread, as each group counts all kinds.
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
