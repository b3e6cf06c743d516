// Makes rectangles of near pairs. A box has the near columns of its ancestors, too, so each rectangle has the rows of a
// lowest box that has columns.
#include "far/levels.hpp"

#include <algorithm>
#include <utility>

namespace kernweave {
namespace far {
namespace {

// Tells for each target box of each level whether the box or a descendant has columns.
template <int D>
std::vector<std::vector<bool>> with_columns(const NearColumns& near, const Octree<D>& targets) {
  std::vector<std::vector<bool>> has(near.size());
  for (std::size_t l = near.size(); l-- > 0;)
    for (std::size_t t = 0; t < near[l].targets(); ++t) {
      const auto& box = targets.boxes[l][t];
      bool any = near[l][t].size() > 0;
      for (int c = box.first_child; c < box.first_child + box.children && !any; ++c)
        any = has[l + 1][static_cast<std::size_t>(c)];
      has[l].push_back(any);
    }
  return has;
}

void add_rows(const Range& rows, std::vector<Range> columns, std::vector<Rectangle>* rectangles) {
  std::sort(columns.begin(), columns.end(), [](const Range& a, const Range& b) { return a.from < b.from; });
  const std::size_t first = rectangles->size();
  for (const Range& c : columns) {
    if (rectangles->size() > first && rectangles->back().columns.to == c.from) rectangles->back().columns.to = c.to;
    else rectangles->push_back({rows, c});
  }
}

}  // namespace

template <int D>
std::vector<Rectangle> near_rectangles(const NearColumns& near, const Octree<D>& targets, const Octree<D>& sources) {
  struct NearVisit {
    std::size_t level, box;
    std::vector<Range> columns;
  };
  const std::vector<std::vector<bool>> below = with_columns(near, targets);
  const int columns = sources.size(), boxed = sources.boxed();
  std::vector<Rectangle> rectangles;
  std::vector<NearVisit> pending = {{0, 0, {}}};
  if (boxed < columns) pending[0].columns.push_back({boxed, columns});
  while (!pending.empty()) {
    NearVisit visit = std::move(pending.back());
    pending.pop_back();
    const auto& box = targets.boxes[visit.level][visit.box];
    const auto& own = near[visit.level][visit.box];
    visit.columns.insert(visit.columns.end(), own.begin(), own.end());
    const auto has = [&](int child) { return below[visit.level + 1][static_cast<std::size_t>(child)]; };
    bool deeper = false;
    for (int c = 0; c < box.children; ++c) deeper = deeper || has(box.first_child + c);
    if (!deeper) {
      add_rows({box.begin, box.end}, std::move(visit.columns), &rectangles);
      continue;
    }
    for (int c = box.children - 1; c >= 0; --c)
      pending.push_back({visit.level + 1, static_cast<std::size_t>(box.first_child + c), visit.columns});
  }
  if (targets.boxed() < targets.size() && columns > 0)
    add_rows({targets.boxed(), targets.size()}, {{0, columns}}, &rectangles);
  return rectangles;
}

template std::vector<Rectangle> near_rectangles(const NearColumns&, const Octree<1>&, const Octree<1>&);
template std::vector<Rectangle> near_rectangles(const NearColumns&, const Octree<2>&, const Octree<2>&);
template std::vector<Rectangle> near_rectangles(const NearColumns&, const Octree<3>&, const Octree<3>&);

}  // namespace far
}  // namespace kernweave
