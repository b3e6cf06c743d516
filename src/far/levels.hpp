// Which pairs of boxes are left out, which have series, and which are computed pair by pair: level by level.
#pragma once
#include <atomic>
#include <vector>

#include "far/box_class.hpp"
#include "far/level_terms.hpp"
#include "far/near_rectangles.hpp"
#include "far/octree.hpp"

namespace kernweave {
namespace far {

// A pair of boxes that is skipped, or has a series.
struct FarPair {
  static constexpr int kSkipped = -1;
  int target, source;
  int box_class, turn;  // no turn where the pair is left out

  bool is_like(const FarPair& other) const { return box_class == other.box_class && turn == other.turn; }
};

// The boxes of a level that have series, numbered; others have -1.
struct NumberedBoxes {
  explicit NumberedBoxes(const std::vector<std::atomic<bool>>& which);
  bool has(std::size_t box) const { return number[box] >= 0; }

  std::vector<int> number;
  int count = 0;
};

template <int D>
struct Level {
  double half;
  std::vector<BoxClass> classes;
  // Pairs by stretches of target boxes, each the work of one thread; in a stretch, those of a class and a turn lie
  // together.
  std::vector<std::vector<FarPair>> far;
  LevelTerms<D> terms;
  NumberedBoxes targets, sources;
  double work;                      // what its series take, in coefficients
  double pairs_far, pairs_skipped;  // pairs of boxes
};

// What a pair of points costs beside a coefficient of a series, and what a pair of boxes may cost to be computed at
// once, not split; as measured (design/024-far.md).
struct Prices {
  double pair = 3, at_once = 160000;
};

template <int D>
struct Levels {
  std::vector<Level<D>> levels;
  std::vector<Rectangle> near;
  double near_pairs = 0;
};

// The trees of both sides, which get a level more when the plan asks for it.
template <int D>
struct Grown {
  const Cube<D>& cube;
  Octree<D>&targets, &sources;

  void split(const arrays::Workers& workers) const {
    targets.split(workers);
    if (&sources != &targets) sources.split(workers);
  }
};

template <int D>
Levels<D> levels_of(const distance::Profile& k, const Demands& demands, const Grown<D>& trees, const Prices& prices,
                    const arrays::Workers& workers);

}  // namespace far
}  // namespace kernweave
