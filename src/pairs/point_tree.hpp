// A tree for searches from the root down: points in the order of the tree, and the corners of boxes.
#pragma once
#include "pairs/box_tree.hpp"

namespace kernweave {

// Distances as sums over axes, which have the order of the distances: add() adds a difference along an axis.
struct SumOfSquares {
  static double add(double sum, double x) { return sum + x * x; }
  static double distance(double sum) { return std::sqrt(sum); }
  static double sum_of(double distance) { return distance * distance; }
};
struct SumOfAbsolutes {
  static double add(double sum, double x) { return sum + std::fabs(x); }
  static double distance(double sum) { return sum; }
  static double sum_of(double distance) { return distance; }
};
struct LargestDifference {
  static double add(double sum, double x) { return std::max(sum, std::fabs(x)); }
  static double distance(double sum) { return sum; }
  static double sum_of(double distance) { return distance; }
};

class PointTree {
 public:
  PointTree(const Coordinates<double>& points, int threads, const Poll& poll);

  const BoxShape& shape() const { return shape_; }
  std::int64_t size() const { return shape_.boxed; }
  int row(std::int64_t place) const { return rows_[static_cast<std::size_t>(place)]; }
  std::size_t axes() const { return axes_; }
  const double* point(std::int64_t place) const { return &points_[static_cast<std::size_t>(place) * axes_]; }

  template <class Metric>
  double apart(const double* x, const double* y) const {
    double sum = 0;
    for (std::size_t axis = 0; axis < axes_; ++axis) sum = Metric::add(sum, x[axis] - y[axis]);
    return sum;
  }
  // Returns a lower bound of the sums for all points in a box.
  template <class Metric>
  double gap(std::int64_t box, const double* x) const {
    const double* corner = &corners_[2 * axes_ * static_cast<std::size_t>(box)];
    double sum = 0;
    for (std::size_t axis = 0; axis < axes_; ++axis, corner += 2)
      sum = Metric::add(sum, std::max({corner[0] - x[axis], x[axis] - corner[1], 0.0}));
    return sum;
  }

  // Calls look(range) for each leaf if matters(box, gap) holds for it and all boxes above; the nearer half comes first.
  template <class Metric, class Matters, class Look>
  void walk(const double* x, const Matters& matters, const Look& look) const {
    walk_into<Metric>(x, 0, 1, 0, matters, look);
  }

  // Computes a number for each box, from the leaves up: the merged value(place) of its points.
  template <class T, class Value, class Merge>
  void fill_boxes(std::vector<T>* boxes, Value value, Merge merge) const {
    boxes->resize(static_cast<std::size_t>(shape_.boxes()));
    for (std::int64_t box = shape_.boxes() - 1; box > 0 && size() > 0; --box) {
      T& here = (*boxes)[static_cast<std::size_t>(box)];
      if (2 * box < shape_.boxes()) {
        here = merge((*boxes)[static_cast<std::size_t>(2 * box)], (*boxes)[static_cast<std::size_t>(2 * box + 1)]);
        continue;
      }
      const Range range = shape_.points_of(shape_.levels, box);
      here = value(range.from);
      for (std::int64_t place = range.from + 1; place < range.to; ++place) here = merge(here, value(place));
    }
  }

 private:
  template <class Metric, class Matters, class Look>
  void walk_into(const double* x, int level, std::int64_t box, double away, const Matters& matters,
                 const Look& look) const {
    if (!matters(box, away)) return;
    if (level == shape_.levels) return look(shape_.points_of(level, box));
    const double left = gap<Metric>(2 * box, x), right = gap<Metric>(2 * box + 1, x);
    const int nearer = right < left;
    walk_into<Metric>(x, level + 1, 2 * box + nearer, std::min(left, right), matters, look);
    walk_into<Metric>(x, level + 1, 2 * box + 1 - nearer, std::max(left, right), matters, look);
  }

  const std::size_t axes_;
  BoxShape shape_;
  std::vector<double> corners_;  // for each box and axis: least, most
  std::vector<double> points_;
  std::vector<int> rows_;
};

// --- nearest before ------------------------------------------------------------------------------------------------
// Finds for each point the nearest points before it.

// Returns `m` numbers for each point: the nearest points before it, sorted by distance, then by number; -1 if there are
// fewer. `along` gets the points in the order of the boxes.
std::vector<int> nearest_before(const Coordinates<double>& points, int m, int threads,
                                const Poll& poll, int* along);

}  // namespace kernweave
