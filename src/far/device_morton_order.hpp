// The Morton order of points on a GPU, which sorts them itself.
#pragma once
#include <memory>

#include "far/morton_order.hpp"

namespace kernweave {
namespace far {

// Returns the Morton order of points that are all in the cube.
template <int D>
std::unique_ptr<MortonOrder<D>> device_morton_order(const Points& points, const Cube<D>& cube, device::Device* device);

}  // namespace far
}  // namespace kernweave
