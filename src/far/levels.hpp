// The levels of far pairs: interaction lists of pairs of boxes that are left out or expanded; near pairs as rectangles;
// and the product with far pairs.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>
#include "arrays/pieces.hpp"
#include "far/level_terms.hpp"
#include "far/octree.hpp"
#include "far/offset_class.hpp"
#include "pairs/pair_map.hpp"

namespace kernweave {
namespace far {

// --- interaction lists ----------------------------------------------------------------------------------------------
// Interaction lists of the target boxes of a level. One thread makes the lists of a range of boxes, so the lists of a
// range are contiguous.

// The largest number of ranges of a level's target boxes.
constexpr Index kTargetRanges = 256;
inline Index target_ranges(std::size_t targets) { return std::min(static_cast<Index>(targets), kTargetRanges); }

// Calls f(range, first target, last target + 1) for each range.
template <class F>
void each_target_range(const arrays::Workers& workers, std::size_t targets, F f) {
  const Index all = target_ranges(targets);
  const auto begin = [&](Index range) {
    return static_cast<std::size_t>(partition::even_split(static_cast<Index>(targets), all, range));
  };
  arrays::each_task(workers, all, [&](Index range) {
    f(static_cast<std::size_t>(range), begin(range), begin(range + 1));
  });
}

template <class Item>
class InteractionLists {
 public:
  struct ItemRange {
    const Item *first = nullptr, *last = nullptr;
    const Item* begin() const { return first; }
    const Item* end() const { return last; }
    std::size_t size() const { return static_cast<std::size_t>(last - first); }
  };

  explicit InteractionLists(std::size_t targets)
      : of_target_(targets), of_range_(static_cast<std::size_t>(target_ranges(targets))) {}

  std::size_t targets() const { return of_target_.size(); }
  const ItemRange& operator[](std::size_t target) const { return of_target_[target]; }
  bool any() const {
    return std::any_of(of_range_.begin(), of_range_.end(), [](const auto& items) { return !items.empty(); });
  }

  // Writes the lists of a range, from its first target on. The lists are complete when the writer is destroyed.
  class RangeWriter {
   public:
    RangeWriter(InteractionLists* lists, std::size_t range, std::size_t first)
        : lists_(*lists), items_(lists->of_range_[range]), first_(first) {}
    ~RangeWriter() {
      const Item* last = items_.data() + items_.size();
      for (std::size_t k = starts_.size(); k-- > 0; last = items_.data() + starts_[k])
        lists_.of_target_[first_ + k] = {items_.data() + starts_[k], last};
    }
    RangeWriter(const RangeWriter&) = delete;
    RangeWriter& operator=(const RangeWriter&) = delete;

    void next_target() { starts_.push_back(items_.size()); }
    void add(const Item& item) { items_.push_back(item); }

   private:
    InteractionLists& lists_;
    std::vector<Item>& items_;
    const std::size_t first_;
    std::vector<std::size_t> starts_;
  };

 private:
  std::vector<ItemRange> of_target_;
  std::vector<std::vector<Item>> of_range_;
};

// --- near_rectangles.cpp --------------------------------------------------------------------------------------------
// Near pairs as rectangles of rows and columns, from the near columns of the boxes of each level.

using NearColumns = std::vector<InteractionLists<Range>>;  // the near columns of each level

// Returns rectangles of positions in the trees' orders, sorted by rows, then by columns. Points in no box are near to
// all points.
template <int D>
std::vector<Rectangle> near_rectangles(const NearColumns& near, const Octree<D>& targets, const Octree<D>& sources);

// An entry of an interaction list: a pair of boxes that is left out or expanded.
struct Interaction {
  static constexpr int kSkipped = -1;
  int target, source;
  int offset_class, permutation;  // kSkipped: the pair is left out

  bool is_like(const Interaction& other) const {
    return offset_class == other.offset_class && permutation == other.permutation;
  }
};

// The numbers of a level's boxes that have expansions; other boxes have -1.
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
  // Pairs by ranges of target boxes, one thread a range; in a range, pairs of a class and a permutation are contiguous.
  std::vector<std::vector<Interaction>> far;
  LevelTerms<D> terms;
  NumberedBoxes targets, sources;
  double work;                      // the work of the level's expansions, in coefficients
  double pairs_far, pairs_skipped;  // pairs of boxes
};

// The work of a pair of points, in coefficients of an expansion, and the most work of a pair of boxes that is computed
// and not split; measured (design/024-far.md).
struct Prices {
  double pair = 3, at_once = 160000;
};

template <int D>
struct Levels {
  std::vector<Level<D>> levels;
  std::vector<Rectangle> near;
  double near_pairs = 0;
};

// The octrees of both sides, to which the plan adds levels.
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

// --- product.cpp ----------------------------------------------------------------------------------------------------
// The far part of a product by a fast multipole method: moments of source boxes (P2M), local expansions of target boxes
// (M2L), values at targets (L2P).

// Adds the far part of the products with some columns of weights to the sums; weights are in the order of the sources'
// tree, sums in the order of the targets' tree. With a power of the difference there are D sums for each column of
// weights, one for each component. Unless null, `bound` gets a bound of each sum's error by expansions and skipped
// pairs.
template <int D>
void add_far(const Levels<D>& plan, const TreePair<D>& trees, int power, const double* weights, int columns,
             const arrays::Workers& workers, double* sums, double* bound);

}  // namespace far
}  // namespace kernweave
