// Outliers are looked for by a sample of each side, without its ends.
#include "far/cube.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <vector>

namespace kernweave {
namespace far {
namespace {

// Outliers lie farther from the rest of their side's sample than so many times its width, and are no larger share of
// their side, but for one.
constexpr std::size_t kSample = 4096, kOfEnds = 64;  // of which one part at each end
constexpr double kFarAway = 1000, kMostOutliers = 0.001;

// Returns the bounding box of all points. The sum of 0 times each number tells whether all numbers are finite.
template <int D>
BoundingBox<D> ends_of(const Points& points, const arrays::Workers& workers, double* nothing) {
  BoundingBox<D> all;
  std::mutex door;
  arrays::each_piece(workers, static_cast<Index>(points.size() / D), [&](Index, Index first, Index last) {
    BoundingBox<D> mine;
    double of_mine = 0;
    for (Index p = first; p < last; ++p) {
      const std::array<double, D> point = point_of<D>(points, static_cast<std::size_t>(p));
      mine.take(point);
      for (const double number : point) of_mine += 0 * number;
    }
    const std::lock_guard<std::mutex> inside(door);
    all.take(mine);
    *nothing += of_mine;
  });
  return all;
}

template <int D>
void put_fence(const Points& points, BoundingBox<D>* fence) {
  const std::size_t count = points.size() / D, step = count / kSample + 1;
  for (std::size_t d = 0; d < D && count > 0; ++d) {
    std::vector<double> sample;
    for (std::size_t p = 0; p < count; p += step) sample.push_back(points[p + d * count]);
    const auto at = [&](std::size_t place) {
      std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(place), sample.end());
      return sample[place];
    };
    const std::size_t end = sample.size() / kOfEnds;
    fence->least[d] = std::min(fence->least[d], at(end));
    fence->most[d] = std::max(fence->most[d], at(sample.size() - 1 - end));
  }
}

// The ends of the points within the fence, if there are few others.
template <int D>
bool are_within(const Points& points, const BoundingBox<D>& fence, BoundingBox<D>* within) {
  const std::size_t count = points.size() / D;
  double outliers = 0;
  for (std::size_t p = 0; p < count; ++p) {
    const std::array<double, D> point = point_of<D>(points, p);
    if (fence.has(point)) within->take(point);
    else ++outliers;
  }
  return outliers <= 1 + kMostOutliers * static_cast<double>(count);
}

template <int D>
Cube<D> cube_of(const BoundingBox<D>& rows, const BoundingBox<D>& columns, bool has_all) {
  Cube<D> cube;
  cube.has_all = has_all;
  cube.of_rows = rows;
  cube.of_columns = columns;
  BoundingBox<D> all = rows;
  all.take(columns);
  if (!all.any()) return cube;
  cube.least = all.least;
  if (all.width() > 0) cube.width = all.width();  // else all points coincide
  return cube;
}

}  // namespace

template <int D>
BoundingBox<D>::BoundingBox() {
  least.fill(HUGE_VAL);
  most.fill(-HUGE_VAL);
}
template <int D>
void BoundingBox<D>::take(const std::array<double, D>& point) {
  for (std::size_t d = 0; d < D; ++d) {
    least[d] = std::min(least[d], point[d]);
    most[d] = std::max(most[d], point[d]);
  }
}
template <int D>
void BoundingBox<D>::take(const BoundingBox& other) {
  for (std::size_t d = 0; d < D; ++d) {
    least[d] = std::min(least[d], other.least[d]);
    most[d] = std::max(most[d], other.most[d]);
  }
}
template <int D>
bool BoundingBox<D>::has(const std::array<double, D>& point) const {
  for (std::size_t d = 0; d < D; ++d)
    if (!(least[d] <= point[d] && point[d] <= most[d])) return false;
  return true;
}
template <int D>
double BoundingBox<D>::width() const {
  double width = 0;
  for (std::size_t d = 0; d < D; ++d) width = std::max(width, most[d] - least[d]);
  return width;
}

template <int D>
bool Cube<D>::has(const std::array<double, D>& point) const {
  for (std::size_t d = 0; d < D; ++d) {
    const double along = point[d] - least[d];
    if (!(along >= 0 && along <= width)) return false;
  }
  return true;
}

template <int D>
Cube<D> Cube<D>::around(const Points& rows, const Points& columns, const arrays::Workers& workers) {
  const bool one = &rows == &columns;
  double nothing = 0;
  const BoundingBox<D> of_rows = ends_of<D>(rows, workers, &nothing),
                of_columns = one ? of_rows : ends_of<D>(columns, workers, &nothing);
  Cube<D> all = cube_of(of_rows, of_columns, true);
  if (nothing != 0) {
    all.width = std::numeric_limits<double>::quiet_NaN();
    return all;
  }
  BoundingBox<D> fence, rows_within, columns_within;
  put_fence<D>(rows, &fence);
  if (!one) put_fence<D>(columns, &fence);
  const double farther = kFarAway * fence.width();
  for (std::size_t d = 0; d < D; ++d) {
    fence.least[d] -= farther;
    fence.most[d] += farther;
  }
  const bool none = fence.width() >= all.width || !(fence.width() > 0);
  if (none || !are_within(rows, fence, &rows_within)) return all;
  if (!one && !are_within(columns, fence, &columns_within)) return all;
  return cube_of(rows_within, one ? rows_within : columns_within, false);
}

template <int D>
Centre<D>::Centre(const Cube<D>& cube, const std::array<int, D>& place, double half) {
  for (std::size_t d = 0; d < D; ++d) {
    const double least = cube.least[d], halves = 2.0 * place[d] + 1, along = half * halves, centre = least + along,
                 of_along = centre - least;
    at[d] = centre;
    rest[d] = std::fma(half, halves, -along) + ((least - (centre - of_along)) + (along - of_along));
  }
}

template struct BoundingBox<1>;
template struct BoundingBox<2>;
template struct BoundingBox<3>;
template struct Cube<1>;
template struct Cube<2>;
template struct Cube<3>;
template struct Centre<1>;
template struct Centre<2>;
template struct Centre<3>;

}  // namespace far
}  // namespace kernweave
