// The octree (a quadtree, a binary tree) of the points of a side: the boxes of each level, each a range of the Morton
// order.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "far/morton_order.hpp"

namespace kernweave {
namespace far {

template <int D>
class Octree {
 public:
  // A box of so many points is not split.
  static constexpr int kFewest = 32;

  struct Box {
    int begin, end;              // points, in order
    int first_child, children;   // of the next level
    int parent;                  // of the one before
    std::array<int, D> at;       // place in the grid of its level

    int size() const { return end - begin; }
  };

  // One box, of all points but those outside of the cube, which are in no box.
  explicit Octree(std::unique_ptr<MortonOrder<D>> order);
  // Adds a level: the children of the boxes of the last one.
  void split(const arrays::Workers& workers);
  // Tells whether a box of this level has children once it is split.
  static bool is_split(int level, const Box& box) {
    return box.size() > kFewest && level + 1 < MortonOrder<D>::kHalvings;
  }
  // Once no more levels are wanted.
  void end() { order_->forget_keys(); }

  const MortonOrder<D>& morton() const { return *order_; }
  int size() const { return order_->size(); }
  int boxed() const { return order_->inside(); }
  int levels() const { return static_cast<int>(boxes.size()); }

  std::vector<std::vector<Box>> boxes;  // level by level, in order

 private:
  void add_children(int number, const int* ends, std::vector<Box>* children);

  std::unique_ptr<MortonOrder<D>> order_;
};

// Octrees of both sides in one cube: rows are targets, columns sources, and may be the same tree.
template <int D>
struct TreePair {
  const Cube<D>& cube;
  const Octree<D>&targets, &sources;
};

}  // namespace far
}  // namespace kernweave
