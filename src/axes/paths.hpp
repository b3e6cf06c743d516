// Index formulas: the ways to give each axis a role in the engine, with the expected time of each; contraction paths.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace kernweave::axes {

// Axes of a formula, by number in the order of mention; bit k is axis k. There are at most 16.
using AxisSet = std::uint32_t;
constexpr int kNone = -1;
inline AxisSet set_of(int axis) { return axis == kNone ? 0 : AxisSet{1} << axis; }
inline bool contains(AxisSet all, AxisSet some) { return (all & some) == some; }

// An array of a formula: the axes that it varies along, and the axes that stand alone in a dimension, in order.
struct Place {
  AxisSet axes = 0;
  std::vector<int> dimensions{};
  bool has_components = false;
  double width = 1;    // components of a point
  double numbers = 1;  // numbers of the whole array
};

struct IndexFormula {
  std::vector<double> extents;  // extents of all axes
  std::vector<int> kept;        // in the order of the formula's left side
  std::vector<Place> places;
  bool any_order;   // the fold needs no order of its terms
  bool components;  // an axis may become the components of a point
  bool columns;     // two kept axes may be lane and columns
  double operations;
  bool product;  // the formula is a product of arrays alone
};

// A loop nest: lane, and sweep (folded) or columns (kept), and components. The other axes are outer axes.
struct Nest {
  int lane = kNone, sweep = kNone, components = kNone, columns = kNone;
  double seconds = 0;  // expected seconds of one thread
};

std::vector<Nest> nests_of(const IndexFormula& formula);

// --- contraction paths ----------------------------------------------------------------------------------------------
// A sum of a product of several arrays is computed two factors at a time.

// A factor, or the product of two parts of the path.
struct Path {
  int factor = kNone;
  std::unique_ptr<Path> left{}, right{};
};

// Returns the path of least cost, for factors that vary along these axes; null if one pass over all points, which takes
// `seconds`, is as good, or if intermediate products take too much memory.
std::unique_ptr<Path> cheapest_path(const std::vector<AxisSet>& factors, AxisSet kept,
                                    const std::vector<double>& extents, double seconds);

}  // namespace kernweave::axes
