// The far part of a product, as a fast multipole method has it: moments of source boxes (P2M), local expansions of
// target boxes from these (M2L), values at targets (L2P).
#pragma once
#include <vector>

#include "far/levels.hpp"

namespace kernweave {
namespace far {

// Adds the far part of the products with some columns of weights to the sums; weights are in the order of the sources'
// tree, sums in that of the targets'. With a power of the difference there are D sums for each column of weights, one
// for each component. Unless it is null, `bound` gets the error of each sum at most, by expansions and pairs left out.
template <int D>
void add_far(const Levels<D>& plan, const TreePair<D>& trees, int power, const double* weights, int columns,
             const arrays::Workers& workers, double* sums, double* bound);

}  // namespace far
}  // namespace kernweave
