// The far part of a product: moments of sources, series from boxes to boxes, values at targets.
#pragma once
#include <vector>

#include "far/levels.hpp"

namespace kernweave {
namespace far {

// Of `columns` columns of weights, in the order of the sources' tree; adds to sums in the order of the targets'. With a
// power of the difference there are D sums for each column, one for each component. `bound`: of each sum, no less than
// what all series and pairs left out are off by; null where nobody asks.
template <int D>
void add_far(const Levels<D>& plan, const Cube<D>& cube, const Tree<D>& targets, const Tree<D>& sources, int power,
             const double* weights, int columns, const arrays::Workers& workers, double* sums, double* bound);

}  // namespace far
}  // namespace kernweave
