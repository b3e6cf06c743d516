// Pairs of each point and the nearest of those before it.
#pragma once
#include "pairs/box_tree.hpp"

namespace kernweave {

// For each point `m` places: the numbers of the nearest before it, in order of their distance, and where that is the
// same in order; -1 where there are fewer. `along` gets the points as they lie in boxes.
std::vector<int> nearest_before(const Coordinates<double>& points, int m, int threads,
                                const std::function<void(double)>& poll, int* along);

}  // namespace kernweave
