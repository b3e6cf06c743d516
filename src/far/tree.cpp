// A key interleaves the bits of a point's places along the axes, so that points of a box have its first bits.
#include "far/tree.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "arrays/radix_order.hpp"

namespace kernweave {
namespace far {
namespace {

// The bits of each byte, D apart.
using SpreadBytes = std::array<std::int64_t, 256>;
template <int D>
SpreadBytes spread_bytes() {
  SpreadBytes out{};
  for (std::size_t byte = 0; byte < out.size(); ++byte)
    for (int bit = 0; bit < 8; ++bit) out[byte] |= static_cast<std::int64_t>(byte >> bit & 1) << (bit * D);
  return out;
}

// Bits of the places in turn, the highest first.
template <int D>
std::int64_t key_of(const std::array<std::int64_t, D>& places, const SpreadBytes& spread) {
  std::int64_t key = 0;
  for (int d = 0; d < D; ++d)
    for (int byte = 0; 8 * byte < Tree<D>::kHalvings; ++byte) {
      const auto bits = static_cast<std::size_t>(places[static_cast<std::size_t>(d)] >> (8 * byte) & 255);
      key |= spread[bits] << (8 * byte * D + D - 1 - d);
    }
  return key;
}

template <int D>
std::array<double, D> point_of(const Points& points, std::size_t p) {
  std::array<double, D> out;
  for (std::size_t d = 0; d < D; ++d) out[d] = points[p + d * (points.size() / D)];
  return out;
}

// From the least to the largest of each component, of numbers that are finite.
template <int D>
struct Spans {
  std::array<double, D> least, most;
  double nothing = 0;  // times each number

  Spans() {
    least.fill(HUGE_VAL);
    most.fill(-HUGE_VAL);
  }
  void take(const std::array<double, D>& point) {
    for (std::size_t d = 0; d < D; ++d) {
      least[d] = std::min(least[d], point[d]);
      most[d] = std::max(most[d], point[d]);
      nothing += 0 * point[d];
    }
  }
  void take(const Spans& other) {
    nothing += other.nothing;
    for (std::size_t d = 0; d < D; ++d) {
      least[d] = std::min(least[d], other.least[d]);
      most[d] = std::max(most[d], other.most[d]);
    }
  }
  bool has(const std::array<double, D>& point) const {
    for (std::size_t d = 0; d < D; ++d)
      if (!(least[d] <= point[d] && point[d] <= most[d])) return false;
    return true;
  }
  bool are_finite() const { return nothing == 0; }
  double width() const {
    double width = 0;
    for (std::size_t d = 0; d < D; ++d) width = std::max(width, most[d] - least[d]);
    return width;
  }
  Cube<D> cube() const {
    Cube<D> cube;
    if (!(least[0] <= most[0])) return cube;  // no points at all
    cube.least = least;
    if (width() > 0) cube.width = width();  // else all points coincide
    return cube;
  }
};

// Of the points that f(number, point) calls for.
template <int D, class F>
Spans<D> spans_of(const Points& points, const arrays::Workers& workers, F f) {
  Spans<D> all;
  std::mutex door;
  arrays::each_piece(workers, static_cast<Index>(points.size() / D), [&](Index, Index first, Index last) {
    Spans<D> mine;
    for (Index p = first; p < last; ++p) {
      const auto number = static_cast<std::size_t>(p);
      const std::array<double, D> point = point_of<D>(points, number);
      if (f(number, point)) mine.take(point);
    }
    const std::lock_guard<std::mutex> inside(door);
    all.take(mine);
  });
  return all;
}

// Strays are looked for by a sample of each side, without its ends: they lie farther from the rest of it than so many
// times its width, and are no larger share of their side, but for one.
constexpr std::size_t kSample = 4096, kEnds = 64;  // of which one part at each end
constexpr double kFarAway = 1000, kMostStrays = 0.001;

// Both lists of points, or the one that both sides have.
using Sides = std::vector<const Points*>;
Sides sides_of(const Points& a, const Points& b) {
  return &a == &b ? Sides{&a} : Sides{&a, &b};
}

template <int D>
Spans<D> fence_of(const Sides& sides) {
  Spans<D> fence;
  for (const Points* points : sides) {
    const std::size_t count = points->size() / D, step = count / kSample + 1;
    for (std::size_t d = 0; d < D && count > 0; ++d) {
      std::vector<double> sample;
      for (std::size_t p = 0; p < count; p += step) sample.push_back((*points)[p + d * count]);
      const auto at = [&](std::size_t place) {
        std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(place), sample.end());
        return sample[place];
      };
      const std::size_t end = sample.size() / kEnds;
      fence.least[d] = std::min(fence.least[d], at(end));
      fence.most[d] = std::max(fence.most[d], at(sample.size() - 1 - end));
    }
  }
  const double farther = kFarAway * fence.width();
  for (std::size_t d = 0; d < D; ++d) {
    fence.least[d] -= farther;
    fence.most[d] += farther;
  }
  return fence;
}

}  // namespace

template <int D>
bool Cube<D>::has(const std::array<double, D>& point) const {
  for (std::size_t d = 0; d < D; ++d) {
    const double along = point[d] - least[d];
    if (!(along >= 0 && along <= width)) return false;
  }
  return true;
}

template <int D>
Cube<D> Cube<D>::around(const Points& a, const Points& b, const arrays::Workers& workers) {
  const Sides sides = sides_of(a, b);
  Spans<D> all;
  for (const Points* points : sides)
    all.take(spans_of<D>(*points, workers, [](std::size_t, const auto&) { return true; }));
  if (!all.are_finite()) return nowhere();
  const Spans<D> fence = fence_of<D>(sides);
  if (fence.width() >= all.width() || !(fence.width() > 0)) return all.cube();
  Spans<D> within;
  for (const Points* points : sides) {
    const std::size_t count = points->size() / D;
    double strays = 0;
    for (std::size_t p = 0; p < count; ++p) {
      const std::array<double, D> point = point_of<D>(*points, p);
      if (fence.has(point)) within.take(point);
      else ++strays;
    }
    if (strays > 1 + kMostStrays * static_cast<double>(count)) return all.cube();
  }
  Cube<D> cube = within.cube();
  cube.has_all = false;
  return cube;
}

template <int D>
Centre<D>::Centre(const Cube<D>& cube, const std::array<int, D>& place, double half) {
  for (std::size_t d = 0; d < D; ++d) {
    const double least = cube.least[d], halves = 2.0 * place[d] + 1, along = half * halves, centre = least + along,
                 of_along = centre - least;
    at[d] = centre;
    rest[d] = std::fma(half, halves, -along) + ((least - (centre - of_along)) + (along - of_along));
  }
}

template <int D>
Tree<D>::Tree(const Points& points, const Cube<D>& cube, const arrays::Workers& workers) {
  take_keys(points, cube, workers);
  const int inside = order_points(points, cube, workers);
  take_components(points, workers);
  boxes.push_back({Box{0, inside, 0, 0, 0, {}}});
}

// Keys, those of points outside of the cube any; and the ends of the others.
template <int D>
void Tree<D>::take_keys(const Points& points, const Cube<D>& cube, const arrays::Workers& workers) {
  const double cells = std::ldexp(1.0, kHalvings), scale = cells / cube.width;
  const SpreadBytes spread = spread_bytes<D>();
  keys_.resize(points.size() / D);
  const Spans<D> inside = spans_of<D>(points, workers, [&](std::size_t p, const std::array<double, D>& point) {
    std::array<std::int64_t, D> places;
    for (std::size_t d = 0; d < D; ++d)
      places[d] = static_cast<std::int64_t>(std::min(cells - 1, std::max(0.0, (point[d] - cube.least[d]) * scale)));
    keys_[p] = key_of<D>(places, spread);
    return cube.has(point);
  });
  least = inside.least;
  most = inside.most;
}

// Returns how many points are inside of the cube.
template <int D>
int Tree<D>::order_points(const Points& points, const Cube<D>& cube, const arrays::Workers& workers) {
  const auto count = static_cast<Index>(keys_.size());
  order.resize(keys_.size());
  const arrays::Keys columns({{arrays::KeyType::int64, keys_.data()}}, count, workers);
  arrays::radix_order(columns, {{}, 0, workers}, order.data(), nullptr);
  arrays::each_piece(workers, count, [&](Index, Index first, Index last) {
    for (Index k = first; k < last; ++k) --order[static_cast<std::size_t>(k)];
  });
  if (cube.has_all) return static_cast<int>(count);
  const auto is_inside = [&](int p) { return cube.has(point_of<D>(points, static_cast<std::size_t>(p))); };
  return static_cast<int>(std::stable_partition(order.begin(), order.end(), is_inside) - order.begin());
}

template <int D>
void Tree<D>::take_components(const Points& points, const arrays::Workers& workers) {
  const std::size_t n = points.size() / D;
  for (std::size_t d = 0; d < D; ++d) components[d].resize(n + kBehind);
  arrays::each_piece(workers, static_cast<Index>(n), [&](Index, Index first, Index last) {
    for (auto p = static_cast<std::size_t>(first); p < static_cast<std::size_t>(last); ++p)
      for (std::size_t d = 0; d < D; ++d) components[d][p] = points[static_cast<std::size_t>(order[p]) + d * n];
  });
  for (Fresh<double>& component : components)
    std::fill(component.begin() + static_cast<std::ptrdiff_t>(n), component.end(), n > 0 ? component[n - 1] : 0.0);
}

template <int D>
void Tree<D>::split(const arrays::Workers& workers) {
  constexpr Index kTogether = 64;  // boxes that a thread takes
  const int level = levels() - 1;
  std::vector<Box>& above = boxes.back();
  const auto count = static_cast<Index>(above.size()), tasks = (count + kTogether - 1) / kTogether;
  std::vector<std::vector<Box>> found(static_cast<std::size_t>(tasks));
  arrays::each_task(workers, tasks, [&](Index task) {
    for (Index b = task * kTogether; b < std::min(count, (task + 1) * kTogether); ++b)
      add_children(level, static_cast<int>(b), &found[static_cast<std::size_t>(task)]);
  });
  std::vector<Box> next;
  for (Index b = 0; b < count; ++b) {
    const std::vector<Box>& mine = found[static_cast<std::size_t>(b / kTogether)];
    if (b % kTogether == 0) next.insert(next.end(), mine.begin(), mine.end());
    above[static_cast<std::size_t>(b)].first_child += static_cast<int>(next.size() - mine.size());
  }
  boxes.push_back(std::move(next));
}

template <int D>
void Tree<D>::add_children(int level, int number, std::vector<Box>* children) {
  Box& box = boxes[static_cast<std::size_t>(level)][static_cast<std::size_t>(number)];
  box.first_child = static_cast<int>(children->size());
  const int behind = D * (kHalvings - 1 - level);  // bits of places within a box of the next level
  for (int begin = box.begin; is_split(level, box) && begin < box.end;) {
    const auto key_of = [&](int point) { return keys_[static_cast<std::size_t>(point)] >> behind; };
    const auto first = order.begin() + begin, last = order.begin() + box.end;
    const std::int64_t prefix = key_of(*first);
    const auto end =
        std::upper_bound(first, last, prefix, [&](std::int64_t own, int point) { return own < key_of(point); });
    Box child{begin, begin + static_cast<int>(end - first), 0, 0, number, {}};
    for (int d = 0; d < D; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      child.at[axis] = 2 * box.at[axis] + static_cast<int>(prefix >> (D - 1 - d) & 1);
    }
    begin = child.end;
    children->push_back(child);
  }
  box.children = static_cast<int>(children->size()) - box.first_child;
}

template struct Cube<1>;
template struct Cube<2>;
template struct Cube<3>;
template struct Centre<1>;
template struct Centre<2>;
template struct Centre<3>;
template class Tree<1>;
template class Tree<2>;
template class Tree<3>;

}  // namespace far
}  // namespace kernweave
