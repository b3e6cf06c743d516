// Interaction lists of the target boxes of a level, made by ranges of boxes, each the work of one thread: those of a
// range lie side by side.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "arrays/pieces.hpp"

namespace kernweave {
namespace far {

// The number of ranges of a level's target boxes, at most.
constexpr Index kTargetRanges = 256;
inline Index target_ranges(std::size_t targets) { return std::min(static_cast<Index>(targets), kTargetRanges); }

// f(range, its first target, the one behind its last).
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

  // Writes the lists of a range, from its first target on. They are there once it is gone.
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

}  // namespace far
}  // namespace kernweave
