// Points in the order of a curve that fills space, and the boxes of each level, each a stretch of that order.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "arrays/buffer.hpp"
#include "arrays/pieces.hpp"
#include "distance/sides.hpp"

namespace kernweave {
namespace far {

using distance::Points;
template <class Item>
using Fresh = arrays::Fresh<Item>;

// The cube that points lie in: all of them, or all but a few strays that are so far from the others that these would
// share a box.
template <int D>
struct Cube {
  std::array<double, D> least{};
  double width = 1;
  bool has_all = true;

  static Cube nowhere() { return {{}, std::nan(""), true}; }
  // The cube of two lists of points, which may be the same list; nowhere where a number is not finite.
  static Cube around(const Points& a, const Points& b, const arrays::Workers& workers);
  bool has(const std::array<double, D>& point) const;
};

// The centre of a box of a level, in two parts: boxes may be small beside their distance from the origin.
template <int D>
struct Centre {
  std::array<double, D> at, rest;

  // Of the box at this place in the grid of its level, whose sides are twice `half` long.
  Centre(const Cube<D>& cube, const std::array<int, D>& place, double half);
};

template <int D>
class Tree {
 public:
  // Halvings of the cube: as many as keys of 63 bits have room for, and places of type int.
  static constexpr int kHalvings = D == 3 ? 21 : 30;
  // A box of so many points is not split; and so many numbers may be read behind the last point.
  static constexpr int kFewest = 32, kBehind = 32;

  struct Box {
    int begin, end;              // points, in order
    int first_child, children;   // of the next level
    int parent;                  // of the one before
    std::array<int, D> at;       // place in the grid of its level

    int size() const { return end - begin; }
  };

  // One box, of all points but those outside of the cube, which are in no box.
  Tree(const Points& points, const Cube<D>& cube, const arrays::Workers& workers);
  // Adds a level: the children of the boxes of the last one.
  void split(const arrays::Workers& workers);
  // Has a box of this level children, once the level is split?
  static bool is_split(int level, const Box& box) { return box.size() > kFewest && level + 1 < kHalvings; }
  // Once no more levels are wanted.
  void forget_keys() { keys_ = {}; }

  int size() const { return static_cast<int>(order.size()); }
  int boxed() const { return boxes[0][0].size(); }
  int levels() const { return static_cast<int>(boxes.size()); }

  Fresh<int> order;                         // the points' numbers, those in no box behind the others
  std::array<Fresh<double>, D> components;  // in that order; the last point once more, `kBehind` times
  std::array<double, D> least, most;        // components of the points in boxes
  std::vector<std::vector<Box>> boxes;      // level by level, in order

 private:
  int order_points(const Points& points, const Cube<D>& cube, const arrays::Workers& workers);
  void take_keys(const Points& points, const Cube<D>& cube, const arrays::Workers& workers);
  void take_components(const Points& points, const arrays::Workers& workers);
  void add_children(int level, int number, std::vector<Box>* children);

  Fresh<std::int64_t> keys_;  // of each point, by its number
};

// Trees of both sides in one cube: rows are targets, columns sources, and may be the same tree.
template <int D>
struct Trees {
  const Cube<D>& cube;
  const Tree<D>&targets, &sources;
};

}  // namespace far
}  // namespace kernweave
