// A tree of boxes around points: each box is halved at the median of its widest axis. The points of a box are
// contiguous in the order of the tree.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>
#include "base/threads.hpp"
#include "pairs/pair_map.hpp"

namespace kernweave {

// Coordinates of points, axis by axis.
template <class T>
using Coordinates = std::vector<std::vector<T>>;

// Tells whether a point with this coordinate can be in a box. Up to kMost, squares and their sums are finite.
template <class T>
bool fits_in_box(T x) {
  constexpr double kMost = sizeof(T) == 4 ? 1e15 : 1e150;
  return std::fabs(static_cast<double>(x)) <= kMost;
}

// The boxes of a tree as ranges of points in order. Level 0 is the root. Boxes of level l have the numbers 2^l ..
// 2^(l+1) - 1; the halves of box b have the numbers 2 b and 2 b + 1.
struct BoxShape {
  std::int64_t grain, grains = 0, boxed = 0;
  int levels = 0;

  Range points_of(int level, std::int64_t box) const {
    const std::int64_t first = (box - (std::int64_t{1} << level)) << (levels - level);
    return {start(first), start(first + (std::int64_t{1} << (levels - level)))};
  }
  std::int64_t boxes() const { return std::int64_t{2} << levels; }  // one more than the last number

 private:
  std::int64_t start(std::int64_t leaf) const { return std::min(boxed, grain * ((grains * leaf) >> levels)); }
};

template <class T>
class BoxTree {
 public:
  // Builds the tree of all points that can be in a box. Every box but the last of its level has a multiple of `grain`
  // points. A leaf has `grain` points, or nearly twice as many. `poll`: see share_out().
  BoxTree(const Coordinates<T>& points, std::int64_t grain, int threads, const Poll& poll);

  const BoxShape& shape() const { return shape_; }
  int levels() const { return shape_.levels; }
  Range points_of(int level, std::int64_t box) const { return shape_.points_of(level, box); }
  // Return the corners of all boxes along an axis.
  const T* least(std::size_t axis) const { return least_[axis].data(); }
  const T* most(std::size_t axis) const { return most_[axis].data(); }

  // The points in order: first the points in boxes, then points in no box, which are not finite or too large.
  const std::vector<std::int64_t>& order() const { return order_; }
  std::int64_t boxed() const { return shape_.boxed; }

 private:
  // An item without padding, so that items are moved as they lie.
  struct SplitItem {
    T key;
    std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t> at;
  };
  struct SplitBuffers {
    std::vector<SplitItem> items;
    std::vector<T> numbers;
    std::vector<std::int64_t> order;
  };
  void set_out(const Coordinates<T>& points);
  void bound(std::int64_t box, const Range& range);
  void split(int level, std::int64_t box, SplitBuffers* room);
  void split_all(int level, std::int64_t box, SplitBuffers* room);

  BoxShape shape_;
  Coordinates<T> sorted_;  // coordinates of points in boxes, in order, while the tree is made
  Coordinates<T> least_, most_;
  std::vector<std::int64_t> order_;
};

}  // namespace kernweave
