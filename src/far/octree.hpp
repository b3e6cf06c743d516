// The octree (a quadtree, a binary tree) of the points of a side: the cube of all points, their Morton order, and the
// boxes of each level, each a range of that order.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>
#include "arrays/buffer.hpp"
#include "arrays/pieces.hpp"
#include "base/view.hpp"
#include "device/device.hpp"
#include "distance/sides.hpp"

namespace kernweave {
namespace far {

// --- cube -----------------------------------------------------------------------------------------------------------
// The cube of the points of both sides, and the centres of boxes.

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

// A cube of all points, except a few outliers, which are so far away that all other points would share a box.
template <int D>
struct Cube {
  std::array<double, D> least{};
  double width = 1;
  bool has_all = true;
  BoundingBox<D> of_rows, of_columns;  // boxes of the points in the cube

  // Returns the cube of two lists of points, which may be the same list; without a width if a number is not finite.
  static Cube around(const Points& rows, const Points& columns, const arrays::Workers& workers);
  bool has(const std::array<double, D>& point) const;
};

// The centre of a box, as the sum of two numbers, since a box may be small compared to its distance from the origin.
template <int D>
struct Centre {
  std::array<double, D> at, rest;

  // Computes the centre of the box at this place in the grid of its level. The sides of the box are 2 `half` long.
  Centre(const Cube<D>& cube, const std::array<int, D>& place, double half);
};

// --- morton order ---------------------------------------------------------------------------------------------------
// The Morton order of the points of a side, along the Z-curve that fills their cube: points of a box of any level are
// contiguous.

template <class Item>
using Fresh = arrays::Fresh<Item>;

// The numbers of points in Morton order, and their components one after the other, on a device.
struct SortedDevicePoints {
  device::Device* device;
  device::Block order, components;
};

template <int D>
class MortonOrder {
 public:
  // The number of halvings of the cube: keys have at most 63 bits, positions 30.
  static constexpr int kHalvings = D == 3 ? 21 : 30;
  // The count of numbers after the last point that may be read.
  static constexpr int kBehind = 32;

  virtual ~MortonOrder() = default;

  int size() const { return size_; }
  int inside() const { return inside_; }  // points in the cube; the others lie behind them

  // Returns the ends of the 2^D parts of boxes of a level, box by box; boxes are ranges of points.
  virtual std::vector<int> ends_of_parts(int level, const std::vector<Range>& boxes,
                                         const arrays::Workers& workers) const = 0;
  // Frees the keys, when no more levels are needed.
  virtual void forget_keys() = 0;

  virtual const Fresh<int>& order() const = 0;  // the points' numbers
  // The points' components in Morton order; the last point is repeated `kBehind` times.
  virtual const std::array<Fresh<double>, D>& components() const = 0;
  virtual std::shared_ptr<const SortedDevicePoints> on(device::Device* device) const;

 protected:
  int size_ = 0, inside_ = 0;
};

template <int D>
std::unique_ptr<MortonOrder<D>> morton_order(const Points& points, const Cube<D>& cube, const arrays::Workers& workers);

// --- boxes ----------------------------------------------------------------------------------------------------------

template <int D>
class Octree {
 public:
  // A box of at most kFewest points is not split.
  static constexpr int kFewest = 32;

  struct Box {
    int begin, end;              // points, in order
    int first_child, children;   // boxes of the next level
    int parent;                  // a box of the previous level
    std::array<int, D> at;       // place in the grid of its level

    int size() const { return end - begin; }
  };

  // Makes the root box, of all points in the cube; outliers are in no box.
  explicit Octree(std::unique_ptr<MortonOrder<D>> order);
  // Adds a level: the children of the boxes of the last level.
  void split(const arrays::Workers& workers);
  // Tells whether a box of this level has children once it is split.
  static bool is_split(int level, const Box& box) {
    return box.size() > kFewest && level + 1 < MortonOrder<D>::kHalvings;
  }
  // Frees memory that is needed for more levels.
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
