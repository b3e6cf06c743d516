// Points in the order of a curve that fills space, and the boxes of each level, which are stretches of that order.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "arrays/pieces.hpp"

namespace kernweave {
namespace far {

// From the least to the largest of one component of points, which have their components one after the other. Of no
// points, from infinity to its opposite.
struct Span {
  double least, most;
};
template <int D>
Span span(const std::vector<double>& points, int component);

// The cube that all points lie in.
template <int D>
struct Cube {
  std::array<double, D> least{};
  double width = 1;

  // Of points in two lists, their components one after the other.
  static Cube around(const std::vector<double>& a, const std::vector<double>& b);
};

template <int D>
class Tree {
 public:
  // Halvings of the cube: as many as whole numbers of 63 bits have room for, and those of `int`.
  static constexpr int kHalvings = D == 3 ? 21 : 30;
  // Points that a box is not split for, and what may be read behind the last one.
  static constexpr int kFewest = 32, kBehind = 16;

  struct Box {
    int begin, end;              // points, in order
    int first_child, children;   // of the next level
    std::array<int, D> at;       // place in the grid of its level

    int size() const { return end - begin; }
  };

  // A last level has no boxes with children.
  Tree(const std::vector<double>& points, const Cube<D>& cube, const arrays::Workers& workers);

  int size() const { return static_cast<int>(order.size()); }
  int levels() const { return static_cast<int>(boxes.size()); }

  std::vector<int> order;                        // the number of each point
  std::array<std::vector<double>, D> components; // in order; the last point once more, `kBehind` times
  std::vector<std::vector<Box>> boxes;           // of each level, in order

 private:
  void split(const std::vector<std::int64_t>& keys);
};

}  // namespace far
}  // namespace kernweave
