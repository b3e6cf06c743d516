// Which pairs of boxes are left out, which have series, and which are computed pair by pair: level by level.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "base/threads.hpp"
#include "far/box_class.hpp"
#include "far/level_terms.hpp"
#include "far/near_rectangles.hpp"
#include "far/tree.hpp"

namespace kernweave {
namespace far {

// A pair of boxes, for whose points a series or nothing stands.
struct FarPair {
  static constexpr int kSkipped = -1;
  int target, source;
  int box_class, turn;  // no turn where the pair is left out
};

// Boxes of a level that have series: the number of each among them, -1 of others.
struct NumberedBoxes {
  explicit NumberedBoxes(const std::vector<bool>& which);
  bool has(std::size_t box) const { return number[box] >= 0; }

  std::vector<int> number;
  int count = 0;
};

template <int D>
struct Level {
  double half;
  std::vector<BoxClass> classes;
  // Of stretches of target boxes, each for one thread: pairs of a class and a turn lie together.
  std::vector<std::vector<FarPair>> far;
  LevelTerms<D> terms;
  NumberedBoxes targets, sources;
  double work;  // of its series, in terms
  double pairs_far, pairs_skipped;  // of boxes
};

// What a pair costs beside a term of a series, and the terms that boxes not to be split may come to; as measured
// (design/024-far.md).
struct Prices {
  double pair = 3, at_once = 160000;
};

template <int D>
struct Levels {
  std::vector<Level<D>> levels;
  std::vector<NearRectangle> near;
  double near_pairs = 0;
};

template <int D>
Levels<D> levels_of(const distance::Profile& k, const Demands& demands, const Cube<D>& cube, const Tree<D>& targets,
                    const Tree<D>& sources, const Prices& prices, const arrays::Workers& workers);

}  // namespace far
}  // namespace kernweave
