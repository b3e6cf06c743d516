// Lists of the target boxes of a level, made by stretches of boxes, each the work of one thread: the lists of a stretch
// lie side by side.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "arrays/pieces.hpp"

namespace kernweave {
namespace far {

// So many stretches of the target boxes of a level, where it has as many boxes.
constexpr Index kStretches = 256;
inline Index stretches_of(std::size_t targets) { return std::min(static_cast<Index>(targets), kStretches); }

// f(stretch, its first target, the one behind its last).
template <class F>
void each_stretch(const arrays::Workers& workers, std::size_t targets, F f) {
  const Index all = stretches_of(targets);
  const auto begin = [&](Index stretch) {
    return static_cast<std::size_t>(partition::even_split(static_cast<Index>(targets), all, stretch));
  };
  arrays::each_task(workers, all, [&](Index stretch) {
    f(static_cast<std::size_t>(stretch), begin(stretch), begin(stretch + 1));
  });
}

template <class Item>
class BoxLists {
 public:
  struct List {
    const Item *first = nullptr, *last = nullptr;
    const Item* begin() const { return first; }
    const Item* end() const { return last; }
    std::size_t size() const { return static_cast<std::size_t>(last - first); }
  };

  explicit BoxLists(std::size_t targets)
      : of_target_(targets), of_stretch_(static_cast<std::size_t>(stretches_of(targets))) {}

  std::size_t targets() const { return of_target_.size(); }
  const List& operator[](std::size_t target) const { return of_target_[target]; }
  bool any() const {
    return std::any_of(of_stretch_.begin(), of_stretch_.end(), [](const auto& items) { return !items.empty(); });
  }

  // Writes the lists of a stretch, from its first target on. They are there once it is gone.
  class Writer {
   public:
    Writer(BoxLists* lists, std::size_t stretch, std::size_t first)
        : lists_(*lists), items_(lists->of_stretch_[stretch]), first_(first) {}
    ~Writer() {
      const Item* last = items_.data() + items_.size();
      for (std::size_t k = starts_.size(); k-- > 0; last = items_.data() + starts_[k])
        lists_.of_target_[first_ + k] = {items_.data() + starts_[k], last};
    }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    void next_target() { starts_.push_back(items_.size()); }
    void add(const Item& item) { items_.push_back(item); }

   private:
    BoxLists& lists_;
    std::vector<Item>& items_;
    const std::size_t first_;
    std::vector<std::size_t> starts_;
  };

 private:
  std::vector<List> of_target_;
  std::vector<std::vector<Item>> of_stretch_;
};

}  // namespace far
}  // namespace kernweave
