// Batches for the M2L kernel of a GPU: the interactions of some targets by class and permutation, and target by
// target.
#pragma once
#include <cstddef>
#include <vector>

#include "arrays/buffer.hpp"
#include "far/levels.hpp"
#include "kernweave/gpu/far_task.hpp"

namespace kernweave {
namespace far {

struct M2LBatches {
  std::vector<gpu::FarBatch> batches;
  Fresh<int> sources;  // of each pair, in the order of classes and permutations, otherwise as they are in the plan
  int first_target = 0;
  std::vector<int> starts;
  Fresh<int> numbers;  // of each target from the first on, where its pairs begin, and their numbers
};

// Lists the expanded pairs of targets in ranges from `first` to `last` - 1, up to `width` pairs in a batch.
template <int D>
M2LBatches m2l_batches(const Level<D>& level, std::size_t first, std::size_t last, int width,
                     const arrays::Workers& workers);

}  // namespace far
}  // namespace kernweave
