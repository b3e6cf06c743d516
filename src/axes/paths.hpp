// Contraction paths: a sum of a product of several arrays, two factors at a time.
#pragma once
#include <memory>
#include <vector>

#include "axes/loops.hpp"

namespace kernweave::axes {

// A factor, or the product of two parts of the path.
struct Path {
  int factor = kNone;
  std::unique_ptr<Path> left{}, right{};
};

// The path of least cost, for factors that vary along these axes; none if one pass over all points, which takes so many
// seconds, is as good, or if what lies in between takes too much memory.
std::unique_ptr<Path> cheapest_path(const std::vector<AxisSet>& factors, AxisSet kept,
                                    const std::vector<double>& extents, double seconds);

}  // namespace kernweave::axes
