// The interaction lists of each level: which pairs of boxes are left out, expanded, or computed pair by pair.
#pragma once
#include <atomic>
#include <vector>

#include "far/offset_class.hpp"
#include "far/level_terms.hpp"
#include "far/near_rectangles.hpp"
#include "far/octree.hpp"

namespace kernweave {
namespace far {

// An entry of an interaction list: a pair of boxes that is left out or expanded.
struct Interaction {
  static constexpr int kSkipped = -1;
  int target, source;
  int offset_class, permutation;  // no permutation where the pair is left out

  bool is_like(const Interaction& other) const {
    return offset_class == other.offset_class && permutation == other.permutation;
  }
};

// The boxes of a level that have expansions, numbered; others have -1.
struct NumberedBoxes {
  explicit NumberedBoxes(const std::vector<std::atomic<bool>>& which);
  bool has(std::size_t box) const { return number[box] >= 0; }

  std::vector<int> number;
  int count = 0;
};

template <int D>
struct Level {
  double half;
  std::vector<OffsetClass> classes;
  // Pairs by ranges of target boxes, each the work of one thread; in a range, those of a class and a permutation lie
  // together.
  std::vector<std::vector<Interaction>> far;
  LevelTerms<D> terms;
  NumberedBoxes targets, sources;
  double work;                      // of its expansions, in coefficients
  double pairs_far, pairs_skipped;  // pairs of boxes
};

// The price of a pair of points beside a coefficient of an expansion, and the most that a pair of boxes may cost to be
// computed at once, not split; as measured (design/024-far.md).
struct Prices {
  double pair = 3, at_once = 160000;
};

template <int D>
struct Levels {
  std::vector<Level<D>> levels;
  std::vector<Rectangle> near;
  double near_pairs = 0;
};

// The octrees of both sides, which grow a level when the plan asks for it.
template <int D>
struct MutableTreePair {
  const Cube<D>& cube;
  Octree<D>&targets, &sources;

  void split(const arrays::Workers& workers) const {
    targets.split(workers);
    if (&sources != &targets) sources.split(workers);
  }
};

template <int D>
Levels<D> levels_of(const distance::Profile& k, const Demands& demands, const MutableTreePair<D>& trees,
                    const Prices& prices, const arrays::Workers& workers);

}  // namespace far
}  // namespace kernweave
