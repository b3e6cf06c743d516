// The pairs of boxes of some targets as a device takes them: in batches of a class and a turn, and target by target.
#pragma once
#include <cstddef>
#include <vector>

#include "arrays/buffer.hpp"
#include "far/levels.hpp"
#include "kernweave/gpu/far_task.hpp"

namespace kernweave {
namespace far {

struct PairLists {
  std::vector<gpu::FarBatch> batches;
  Fresh<int> sources;  // of each pair, in the order of classes and turns, otherwise as they are in the plan
  int first_target = 0;
  std::vector<int> starts;
  Fresh<int> numbers;  // of each target from the first on, where its pairs begin, and their numbers
};

// Of the pairs of targets in stretches from `first` to `last` - 1 that have series, up to `width` in a batch.
template <int D>
PairLists pair_lists(const Level<D>& level, std::size_t first, std::size_t last, int width,
                     const arrays::Workers& workers);

}  // namespace far
}  // namespace kernweave
