// Points in the order of a curve that fills space, and the boxes of each level, each a stretch of that order.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "arrays/pieces.hpp"

namespace kernweave {
namespace far {

// The cube that points lie in: all of them, or all but a few strays that are so far from the others that these would
// share a box.
template <int D>
struct Cube {
  std::array<double, D> least{};
  double width = 1;
  bool has_all = true;

  // The cube of two lists of points, which lie component by component.
  static Cube around(const std::vector<double>& a, const std::vector<double>& b, const arrays::Workers& workers);
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
    std::array<int, D> at;       // place in the grid of its level

    int size() const { return end - begin; }
  };

  // Points outside of the cube are in no box. No box of the last level has children.
  Tree(const std::vector<double>& points, const Cube<D>& cube, const arrays::Workers& workers);

  int size() const { return static_cast<int>(order.size()); }
  int boxed() const { return boxes[0][0].size(); }
  int levels() const { return static_cast<int>(boxes.size()); }

  std::vector<int> order;                        // the points' numbers, those in no box behind the others
  std::array<std::vector<double>, D> components; // in that order; the last point once more, `kBehind` times
  std::array<double, D> least, most;             // components of the points in boxes
  std::vector<std::vector<Box>> boxes;           // level by level, in order

 private:
  std::vector<int> inside_then_outside(const std::vector<double>& points, const Cube<D>& cube, int* inside) const;
  std::vector<std::int64_t> keys_of(const std::vector<double>& points, const Cube<D>& cube, int inside,
                                    const arrays::Workers& workers) const;
  void sort(std::vector<std::int64_t>* keys, const arrays::Workers& workers);
  void take_components(const std::vector<double>& points, const arrays::Workers& workers);
  void split(const std::vector<std::int64_t>& keys);
};

// Trees of both sides in one cube: rows are targets, columns sources, and may be the same tree.
template <int D>
struct Trees {
  const Cube<D>& cube;
  const Tree<D>&targets, &sources;
};

}  // namespace far
}  // namespace kernweave
