// The far part of a product: moments of sources, series from boxes to boxes, values at targets.
#pragma once
#include <vector>

#include "far/levels.hpp"

namespace kernweave {
namespace far {

// Adds the far part of the products with some columns of weights to the sums; weights are in the order of the sources'
// tree, sums in that of the targets'. With a power of the difference there are D sums for each column of weights, one
// for each component. Unless it is null, `bound` gets what the series and skipped pairs of each sum are off by at most.
template <int D>
void add_far(const Levels<D>& plan, const Trees<D>& trees, int power, const double* weights, int columns,
             const arrays::Workers& workers, double* sums, double* bound);

}  // namespace far
}  // namespace kernweave
