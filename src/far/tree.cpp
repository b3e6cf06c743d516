// A key interleaves the bits of a point's places along the axes, so that points of a box have its first bits.
#include "far/tree.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <utility>

#include "arrays/radix_order.hpp"

namespace kernweave {
namespace far {
namespace {

// The bits of each byte, D apart.
template <int D>
std::array<std::int64_t, 256> spread_bytes() {
  std::array<std::int64_t, 256> out{};
  for (std::size_t byte = 0; byte < out.size(); ++byte)
    for (int bit = 0; bit < 8; ++bit) out[byte] |= static_cast<std::int64_t>(byte >> bit & 1) << (bit * D);
  return out;
}

// Bits of the places in turn, the highest first.
template <int D>
std::int64_t key_of(const std::array<std::int64_t, D>& places) {
  static const std::array<std::int64_t, 256> spread = spread_bytes<D>();
  std::int64_t key = 0;
  for (int d = 0; d < D; ++d)
    for (int byte = 0; 8 * byte < Tree<D>::kHalvings; ++byte) {
      const auto bits = static_cast<std::size_t>(places[static_cast<std::size_t>(d)] >> (8 * byte) & 255);
      key |= spread[bits] << (8 * byte * D + D - 1 - d);
    }
  return key;
}

template <int D>
std::array<double, D> point_of(const std::vector<double>& points, std::size_t p) {
  std::array<double, D> out;
  for (std::size_t d = 0; d < D; ++d) out[d] = points[p + d * (points.size() / D)];
  return out;
}

// From the least to the largest of each component.
template <int D>
struct Spans {
  std::array<double, D> least, most;

  Spans() {
    least.fill(HUGE_VAL);
    most.fill(-HUGE_VAL);
  }
  void take(const std::array<double, D>& point) {
    for (std::size_t d = 0; d < D; ++d) {
      least[d] = std::min(least[d], point[d]);
      most[d] = std::max(most[d], point[d]);
    }
  }
  void take(const Spans& other) {
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

// Of the points that f(point) calls for.
template <int D, class F>
Spans<D> spans_of(const std::vector<double>& points, const arrays::Workers& workers, F f) {
  Spans<D> all;
  std::mutex door;
  arrays::each_piece(workers, static_cast<Index>(points.size() / D), [&](Index, Index first, Index last) {
    Spans<D> mine;
    for (Index p = first; p < last; ++p) {
      const std::array<double, D> point = point_of<D>(points, static_cast<std::size_t>(p));
      if (f(point)) mine.take(point);
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

template <int D>
Spans<D> fence_of(const std::vector<double>& a, const std::vector<double>& b) {
  Spans<D> fence;
  for (const std::vector<double>* points : {&a, &b}) {
    const std::size_t count = points->size() / D, step = count / kSample + 1;
    for (std::size_t d = 0; d < D && count > 0; ++d) {
      std::vector<double> sample;
      for (std::size_t p = 0; p < count; p += step) sample.push_back((*points)[p + d * count]);
      std::sort(sample.begin(), sample.end());
      const std::size_t end = sample.size() / kEnds;
      fence.least[d] = std::min(fence.least[d], sample[end]);
      fence.most[d] = std::max(fence.most[d], sample[sample.size() - 1 - end]);
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
Cube<D> Cube<D>::around(const std::vector<double>& a, const std::vector<double>& b, const arrays::Workers& workers) {
  Spans<D> all;
  for (const std::vector<double>* points : {&a, &b})
    all.take(spans_of<D>(*points, workers, [](const auto&) { return true; }));
  const Spans<D> fence = fence_of<D>(a, b);
  if (fence.width() >= all.width() || !(fence.width() > 0)) return all.cube();
  Spans<D> within;
  for (const std::vector<double>* points : {&a, &b}) {
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

// The numbers of points, those that are in the cube first.
template <int D>
std::vector<int> Tree<D>::inside_then_outside(const std::vector<double>& points, const Cube<D>& cube,
                                              int* inside) const {
  std::vector<int> numbers(points.size() / D);
  std::iota(numbers.begin(), numbers.end(), 0);
  *inside = static_cast<int>(numbers.size());
  if (cube.has_all) return numbers;
  const auto is_inside = [&](int p) { return cube.has(point_of<D>(points, static_cast<std::size_t>(p))); };
  const auto end = std::stable_partition(numbers.begin(), numbers.end(), is_inside);
  *inside = static_cast<int>(end - numbers.begin());
  return numbers;
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
Tree<D>::Tree(const std::vector<double>& points, const Cube<D>& cube, const arrays::Workers& workers) {
  int inside = 0;
  order = inside_then_outside(points, cube, &inside);
  const Spans<D> boxed = spans_of<D>(points, workers, [&](const auto& point) { return cube.has(point); });
  least = boxed.least;
  most = boxed.most;
  std::vector<std::int64_t> keys = keys_of(points, cube, inside, workers);
  sort(&keys, workers);
  take_components(points, workers);
  split(keys);
}

// The keys of the points inside the cube.
template <int D>
std::vector<std::int64_t> Tree<D>::keys_of(const std::vector<double>& points, const Cube<D>& cube, int inside,
                                           const arrays::Workers& workers) const {
  const std::size_t n = points.size() / D;
  const double cells = std::ldexp(1.0, kHalvings), scale = cells / cube.width;
  std::vector<std::int64_t> keys(static_cast<std::size_t>(inside));
  arrays::each_piece(workers, inside, [&](Index, Index first, Index last) {
    for (auto k = static_cast<std::size_t>(first); k < static_cast<std::size_t>(last); ++k) {
      std::array<std::int64_t, D> places;
      for (std::size_t d = 0; d < D; ++d) {
        const double place = points[static_cast<std::size_t>(order[k]) + d * n] - cube.least[d];
        places[d] = static_cast<std::int64_t>(std::min(cells - 1, std::max(0.0, place * scale)));
      }
      keys[k] = key_of<D>(places);
    }
  });
  return keys;
}

// Puts the keys in order, and the points that have them.
template <int D>
void Tree<D>::sort(std::vector<std::int64_t>* keys, const arrays::Workers& workers) {
  const auto inside = static_cast<Index>(keys->size());
  std::vector<int> places(keys->size());
  const arrays::Keys columns({{arrays::KeyType::int64, keys->data()}}, inside, workers);
  arrays::radix_order(columns, {{}, 0, workers}, places.data(), nullptr);
  std::vector<std::int64_t> sorted(keys->size());
  arrays::each_piece(workers, inside, [&](Index, Index first, Index last) {
    for (auto k = static_cast<std::size_t>(first); k < static_cast<std::size_t>(last); ++k) {
      const auto from = static_cast<std::size_t>(places[k] - 1);
      sorted[k] = (*keys)[from];
      places[k] = order[from];
    }
  });
  std::copy(places.begin(), places.end(), order.begin());
  *keys = std::move(sorted);
}

template <int D>
void Tree<D>::take_components(const std::vector<double>& points, const arrays::Workers& workers) {
  const std::size_t n = points.size() / D;
  for (std::size_t d = 0; d < D; ++d) components[d].resize(n + kBehind);
  arrays::each_piece(workers, static_cast<Index>(n), [&](Index, Index first, Index last) {
    for (auto p = static_cast<std::size_t>(first); p < static_cast<std::size_t>(last); ++p)
      for (std::size_t d = 0; d < D; ++d) components[d][p] = points[static_cast<std::size_t>(order[p]) + d * n];
  });
  for (std::vector<double>& component : components)
    std::fill(component.begin() + static_cast<std::ptrdiff_t>(n), component.end(), n > 0 ? component[n - 1] : 0.0);
}

template <int D>
void Tree<D>::split(const std::vector<std::int64_t>& keys) {
  boxes.push_back({Box{0, static_cast<int>(keys.size()), 0, 0, {}}});
  for (int level = 0; level + 1 < kHalvings; ++level) {
    std::vector<Box> next;
    const int behind = D * (kHalvings - 1 - level);  // bits of places within a box of the next level
    for (Box& box : boxes.back()) {
      box.first_child = static_cast<int>(next.size());
      for (int begin = box.begin; box.size() > kFewest && begin < box.end;) {
        const std::int64_t prefix = keys[static_cast<std::size_t>(begin)] >> behind;
        const auto end = std::upper_bound(keys.begin() + begin, keys.begin() + box.end, prefix,
                                          [&](std::int64_t p, std::int64_t key) { return p < key >> behind; });
        Box child{begin, static_cast<int>(end - keys.begin()), 0, 0, {}};
        for (int d = 0; d < D; ++d) {
          const auto axis = static_cast<std::size_t>(d);
          child.at[axis] = 2 * box.at[axis] + static_cast<int>(prefix >> (D - 1 - d) & 1);
        }
        begin = child.end;
        next.push_back(child);
      }
      box.children = static_cast<int>(next.size()) - box.first_child;
    }
    if (next.empty()) break;
    boxes.push_back(std::move(next));
  }
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
