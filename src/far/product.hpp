// The far part of a product: moments of sources, series from boxes to boxes, values at targets.
#pragma once
#include <vector>

#include "far/levels.hpp"

namespace kernweave {
namespace far {

// Of `columns` columns of weights, in the order of the sources' tree; adds to sums in the order of the targets'.
// `bound`: of each column, in the order of targets, no less than what all series and pairs left out are off by; null
// where nobody asks.
template <int D>
void add_far(const Levels<D>& plan, const Cube<D>& cube, const Tree<D>& targets, const Tree<D>& sources,
             const double* weights, int columns, const arrays::Workers& workers, double* sums, double* bound);

}  // namespace far
}  // namespace kernweave
