// The offsets between boxes of a level: those of children follow from those of their parents.
#pragma once
#include <atomic>
#include <vector>

#include "far/offset.hpp"

namespace kernweave {
namespace far {

template <int D>
class LevelOffsets {
 public:
  // The offsets that children of pairs at these offsets may have.
  explicit LevelOffsets(const std::vector<Offset<D>>& parents) : LevelOffsets(parents, all_of(parents.size())) {}
  // Those of the next level, where pairs at these offsets are split.
  LevelOffsets below(const std::vector<std::atomic<bool>>& split) const {
    return LevelOffsets(all_, numbers_of(split));
  }

  int count() const { return static_cast<int>(all_.size()); }
  // The number of the offset of two children, by the number of their parents' and the corners that they are in.
  int of_children(int parents, int target_corner, int source_corner) const {
    return of_children_[static_cast<std::size_t>((parents << D | target_corner) << D | source_corner)];
  }
  // The corner of its parent that a box is in, by its place in the grid.
  static int corner(const std::array<int, D>& place) {
    int number = 0;
    for (const int along : place) number = number << 1 | (along & 1);
    return number;
  }

  // Folded ones, in order, and which of them an offset is, with its turn.
  const std::vector<Offset<D>>& all_folded() const { return folded_; }
  struct Kind {
    int folded, turn;
  };
  const Kind& kind(int number) const { return kinds_[static_cast<std::size_t>(number)]; }

 private:
  static std::vector<int> all_of(std::size_t count);
  static std::vector<int> numbers_of(const std::vector<std::atomic<bool>>& which);
  LevelOffsets(const std::vector<Offset<D>>& parents, const std::vector<int>& split);
  void fold();

  std::vector<Offset<D>> all_, folded_;
  std::vector<Kind> kinds_;
  std::vector<int> of_children_;
};

}  // namespace far
}  // namespace kernweave
