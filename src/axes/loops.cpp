// Lists the loop nests of an index formula, with their prices.
#include "axes/paths.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace kernweave::axes {
namespace {

// Nanoseconds of one thread of an AMD machine with AVX-512, from the nests of six formulas.
constexpr double kRun = 700;         // a run of outer axes
constexpr double kWideRun = 1300;    // more, if points have several components
constexpr double kPair = 0.05;
constexpr double kOperation = 0.03;  // an operation of a pair
constexpr double kMatrix = 0.8;      // an array with a number of its own for each pair, or one packed for a lane
constexpr double kFactor = 0.05;     // a component of a product
constexpr double kComponent = 0.07;  // a component of anything else, for each operation
constexpr double kMoved = 2;         // a number that is put in another order
// Lanes are counted in strips, and the start of a sweep costs as much as some columns.
constexpr double kLanesOfStrip = 16, kColumnsOfStart = 4;

// Components that one axis may become. With more components, states no longer fit the cache.
constexpr double kMostComponents = 1024;

class NestSearch {
 public:
  explicit NestSearch(const IndexFormula& formula) : f_(formula) {
    for (int axis = 0; axis < static_cast<int>(f_.extents.size()); ++axis)
      if (std::find(f_.kept.begin(), f_.kept.end(), axis) == f_.kept.end()) folded_.push_back(axis);
  }

  std::vector<Nest> all() {
    for (const int lane : lanes())
      for (const int sweep : sweeps(lane)) add(lane, sweep);
    return found_;
  }

 private:
  double extent(int axis) const { return axis == kNone ? 1 : f_.extents[static_cast<std::size_t>(axis)]; }

  // If values are equal, the first in the order of mention counts: the engine folds in that order.
  std::vector<int> first(const std::vector<int>& axes) const {
    if (axes.empty()) return {};
    const auto longer = std::find_if(axes.begin(), axes.end(), [&](int axis) { return extent(axis) > 1; });
    return {longer == axes.end() ? axes[0] : *longer};
  }

  static std::vector<int> but(std::vector<int> axes, int axis) {
    axes.erase(std::remove(axes.begin(), axes.end(), axis), axes.end());
    return axes;
  }

  // Tells whether an array varies along all these axes, with components.
  bool met_with_components(AxisSet axes) const {
    return std::any_of(f_.places.begin(), f_.places.end(),
                       [&](const Place& p) { return p.has_components && contains(p.axes, axes); });
  }
  bool met(AxisSet axes) const {
    return std::any_of(f_.places.begin(), f_.places.end(), [&](const Place& p) { return contains(p.axes, axes); });
  }

  std::vector<int> lanes() const {
    if (!f_.kept.empty()) return f_.kept;
    if (folded_.empty()) return {kNone};
    return f_.any_order ? folded_ : first(folded_);
  }

  // An array along both lane and second axis has one number for each pair, so it has no components.
  std::vector<int> beside(int lane, std::vector<int> axes) const {
    const auto wide = [&](int axis) { return met_with_components(set_of(lane) | set_of(axis)); };
    axes.erase(std::remove_if(axes.begin(), axes.end(), wide), axes.end());
    return axes;
  }

  std::vector<int> sweeps(int lane) const {
    const std::vector<int> left = but(folded_, lane);
    std::vector<int> found = beside(lane, f_.any_order ? left : first(left));
    if (found.empty()) found.push_back(kNone);
    return found;
  }

  void add(int lane, int sweep) {
    note({lane, sweep, kNone, kNone});
    const std::vector<int> others = but(f_.kept, lane);
    if (sweep != kNone && f_.components)
      for (const int axis : others)
        if (extent(axis) <= kMostComponents && !met(set_of(lane) | set_of(sweep) | set_of(axis)))
          note({lane, sweep, axis, kNone});
    if (sweep == kNone && f_.columns && folded_.empty())
      for (const int axis : beside(lane, others)) note({lane, kNone, kNone, axis});
  }

  void note(Nest nest) {
    nest.seconds = seconds(nest);
    found_.push_back(nest);
  }

  // Tells whether the axes of an array are in the order of the nest's roles, others behind in their own order.
  static bool in_order(const Place& place, const Nest& nest) {
    const int wanted[] = {nest.lane, nest.sweep, nest.columns, nest.components};
    const auto rank = [&](int axis) {
      const auto role = std::find(std::begin(wanted), std::end(wanted), axis);
      if (role != std::end(wanted)) return role - std::begin(wanted);
      return 4 + (std::find(place.dimensions.begin(), place.dimensions.end(), axis) - place.dimensions.begin());
    };
    return std::is_sorted(place.dimensions.begin(), place.dimensions.end(),
                          [&](int a, int b) { return rank(a) < rank(b); });
  }

  double seconds(const Nest& nest) const {
    const int second = nest.sweep == kNone ? nest.columns : nest.sweep;
    const double components = extent(nest.components);
    double points = 1;
    for (const double n : f_.extents) points *= n;
    const double runs = points / (extent(nest.lane) * extent(second) * components);
    const double lanes = kLanesOfStrip * std::ceil(extent(nest.lane) / kLanesOfStrip);
    double matrices = 0, packed = 0, moved = 0;
    for (const Place& place : f_.places) {
      const bool along = nest.lane != kNone && contains(place.axes, set_of(nest.lane));
      matrices += second != kNone && contains(place.axes, set_of(nest.lane) | set_of(second));
      if (along && place.width > 1) packed += place.width;  // each run packs these components
      if (!in_order(place, nest)) moved += place.numbers;
    }
    const double wide = f_.product ? kFactor : kComponent * f_.operations;
    const double of_pair =
        kPair + kOperation * f_.operations + kMatrix * matrices + (components > 1 ? wide * components : 0);
    const double of_lane = (extent(second) + kColumnsOfStart) * of_pair + kMatrix * packed;
    return 1e-9 * (runs * (kRun + kWideRun * (packed > 0) + lanes * of_lane) + kMoved * moved);
  }

  const IndexFormula& f_;
  std::vector<int> folded_;
  std::vector<Nest> found_;
};

}  // namespace

std::vector<Nest> nests_of(const IndexFormula& formula) { return NestSearch(formula).all(); }

}  // namespace kernweave::axes
