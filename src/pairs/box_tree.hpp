// A tree of boxes around points: halves of halves, each split at the median of its widest axis. Points of a box are a
// range of their order.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>
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

template <class T>
class BoxTree {
 public:
  // Builds the tree of all points that can be in a box. Every box but the last of its level has a multiple of `grain`
  // points. A leaf has `grain` points, or nearly twice as many. `poll`: see share_out().
  BoxTree(const Coordinates<T>& points, std::int64_t grain, int threads, const std::function<void(double)>& poll);

  // Level 0 is the root. Boxes of level l are number 2^l .. 2^(l+1) - 1; those in box b, 2 b and 2 b + 1.
  int levels() const { return levels_; }
  Range points_of(int level, std::int64_t box) const {
    const std::int64_t first = (box - (std::int64_t{1} << level)) << (levels_ - level);
    return {start(first), start(first + (std::int64_t{1} << (levels_ - level)))};
  }
  // Corners along an axis, by box.
  const T* least(std::size_t axis) const { return least_[axis].data(); }
  const T* most(std::size_t axis) const { return most_[axis].data(); }

  // The points in order: first those in boxes, then those that can be in none, not finite or nearly not.
  const std::vector<std::int64_t>& order() const { return order_; }
  std::int64_t boxed() const { return boxed_; }

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
  std::int64_t start(std::int64_t leaf) const { return std::min(boxed_, grain_ * ((grains_ * leaf) >> levels_)); }
  void set_out(const Coordinates<T>& points);
  void bound(std::int64_t box, const Range& range);
  void split(int level, std::int64_t box, SplitBuffers* room);
  void split_all(int level, std::int64_t box, SplitBuffers* room);

  std::int64_t grain_, grains_ = 0, boxed_ = 0;
  int levels_ = 0;
  Coordinates<T> sorted_;  // those of points in boxes, in order, while the tree is made
  Coordinates<T> least_, most_;
  std::vector<std::int64_t> order_;
};

// --- nearest before ------------------------------------------------------------------------------------------------
// Pairs of each point and the nearest of those before it.

// For each point `m` places: the numbers of the nearest before it, in order of their distance, and where that is the
// same in order; -1 where there are fewer. `along` gets the points as they lie in boxes.
std::vector<int> nearest_before(const Coordinates<double>& points, int m, int threads,
                                const std::function<void(double)>& poll, int* along);

}  // namespace kernweave
