// Near pairs as rectangles of rows and columns, from the points that the boxes of each level are near to.
#pragma once
#include <vector>

#include "far/interaction_lists.hpp"
#include "far/octree.hpp"
#include "pairs/pair_map.hpp"

namespace kernweave {
namespace far {

using NearColumns = std::vector<InteractionLists<Range>>;  // of each level

// Returns rectangles of places in the trees' orders: in the order of rows and, for the same rows, of columns. Points in
// no box are near to all.
template <int D>
std::vector<Rectangle> near_rectangles(const NearColumns& near, const Octree<D>& targets, const Octree<D>& sources);

}  // namespace far
}  // namespace kernweave
