// Children of a box: those of its 2^D parts that have points.
#include "far/octree.hpp"

#include <utility>

namespace kernweave {
namespace far {

template <int D>
Octree<D>::Octree(std::unique_ptr<MortonOrder<D>> order) : order_(std::move(order)) {
  boxes.push_back({Box{0, boxed(), 0, 0, 0, {}}});
}

template <int D>
void Octree<D>::split(const arrays::Workers& workers) {
  const int level = levels() - 1, count = static_cast<int>(boxes.back().size());
  std::vector<Range> split;
  for (const Box& box : boxes.back())
    if (is_split(level, box)) split.push_back({box.begin, box.end});
  const std::vector<int> ends = order_->ends_of_parts(level, split, workers);
  std::vector<Box> next;
  const int* of_box = ends.data();
  for (int number = 0; number < count; ++number) {
    Box& box = boxes.back()[static_cast<std::size_t>(number)];
    box.first_child = static_cast<int>(next.size());
    if (!is_split(level, box)) continue;
    add_children(number, of_box, &next);
    of_box += 1 << D;
    box.children = static_cast<int>(next.size()) - box.first_child;
  }
  boxes.push_back(std::move(next));
}

template <int D>
void Octree<D>::add_children(int number, const int* ends, std::vector<Box>* children) {
  const Box& box = boxes.back()[static_cast<std::size_t>(number)];
  int begin = box.begin;
  for (int part = 0; part < 1 << D; ++part) {
    if (ends[part] == begin) continue;
    Box child{begin, ends[part], 0, 0, number, {}};
    for (int d = 0; d < D; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      child.at[axis] = 2 * box.at[axis] + (part >> (D - 1 - d) & 1);
    }
    begin = child.end;
    children->push_back(child);
  }
}

template class Octree<1>;
template class Octree<2>;
template class Octree<3>;

}  // namespace far
}  // namespace kernweave
