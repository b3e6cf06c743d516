// The curve of points on a device, which puts them in order itself.
#pragma once
#include <memory>

#include "far/curve.hpp"

namespace kernweave {
namespace far {

// Of points that are all in the cube.
template <int D>
std::unique_ptr<Curve<D>> curve_there(const Points& points, const Cube<D>& cube, device::Device* device);

}  // namespace far
}  // namespace kernweave
