// Holds the values that pairs read of the points of an axis, in the order of a tree of boxes.
#pragma once
#include <memory>
#include <vector>
#include "pairs/box_tree.hpp"
#include "cpu/worker.hpp"

namespace kernweave {

// How a panel lies: so many points side by side, of so many components each.
struct PanelShape {
  std::int64_t wide;
  int components;

  std::int64_t place(std::int64_t point, int component) const {
    return (point / wide * components + component) * wide + point % wide;
  }
};

template <class T>
class BoxedPoints {
 public:
  // `values`: of each component of the panel, in the order of the data, of which the tree has those from `first` on.
  // Boxes and strips begin at multiples of `grain`.
  BoxedPoints(const Coordinates<T>& values, std::int64_t first, const PanelShape& shape,
              std::shared_ptr<const BoxTree<T>> tree, std::int64_t grain);

  const BoxTree<T>& tree() const { return *tree_; }

  // Points by their places: those in boxes from 0 on, as the tree numbers them, the others from `others` on.
  Range boxed() const { return {0, tree_->boxed()}; }
  Range others() const {
    return {first_other_, first_other_ + static_cast<std::int64_t>(tree_->order().size()) - tree_->boxed()};
  }
  // Returns the panel from a place where a strip begins.
  const T* panel(std::int64_t place) const { return panel_.data() + place * shape_.components; }
  // The names of terms: rows of the data by place, both counted from 1.
  const std::vector<Index>& names() const { return names_; }

 private:
  PanelShape shape_;
  std::shared_ptr<const BoxTree<T>> tree_;
  std::int64_t first_other_ = 0;
  std::vector<T> panel_;
  std::vector<Index> names_;
};

// Tells whether the numbers are equal, bit for bit.
template <class T>
bool same_numbers(const Coordinates<T>& a, const Coordinates<T>& b);

// Some components of some points.
template <class T>
Coordinates<T> part_of(const Coordinates<T>& values, const std::vector<int>& components, const Range& points);

}  // namespace kernweave
