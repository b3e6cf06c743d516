// The cube that points of both sides lie in, and the centres of the boxes that it is halved into.
#pragma once
#include <array>
#include <cmath>

#include "arrays/pieces.hpp"
#include "distance/sides.hpp"

namespace kernweave {
namespace far {

using distance::Points;

template <int D>
std::array<double, D> point_of(const Points& points, std::size_t p) {
  std::array<double, D> out;
  for (std::size_t d = 0; d < D; ++d) out[d] = points[p + d * (points.size() / D)];
  return out;
}

// The least and the largest number of each component of some points.
template <int D>
struct BoundingBox {
  std::array<double, D> least, most;

  BoundingBox();
  void take(const std::array<double, D>& point);
  void take(const BoundingBox& other);
  bool any() const { return least[0] <= most[0]; }
  bool has(const std::array<double, D>& point) const;
  double width() const;
};

// All points lie in it, or all but a few outliers that are so far from the others that these would share a box.
template <int D>
struct Cube {
  std::array<double, D> least{};
  double width = 1;
  bool has_all = true;
  BoundingBox<D> of_rows, of_columns;  // of those in it

  // The cube of two lists of points, which may be the same list. It has no width where a number is not finite.
  static Cube around(const Points& rows, const Points& columns, const arrays::Workers& workers);
  bool has(const std::array<double, D>& point) const;
};

// The centre of a box of a level, in two parts: boxes may be small beside their distance from the origin.
template <int D>
struct Centre {
  std::array<double, D> at, rest;

  // Computes the centre of the box at this place in the grid of its level. The sides of the box are 2 `half` long.
  Centre(const Cube<D>& cube, const std::array<int, D>& place, double half);
};

}  // namespace far
}  // namespace kernweave
