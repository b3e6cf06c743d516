// A key interleaves the bits of a point's places along the axes, so that points of a box have its first bits.
#include "far/tree.hpp"

#include <algorithm>
#include <cmath>

#include "arrays/radix_order.hpp"

namespace kernweave {
namespace far {
namespace {

template <int D>
std::int64_t key_of(const std::array<std::int64_t, D>& places, int bits) {
  std::int64_t key = 0;
  for (int bit = bits - 1; bit >= 0; --bit)
    for (int d = 0; d < D; ++d) key = key << 1 | (places[static_cast<std::size_t>(d)] >> bit & 1);
  return key;
}

}  // namespace

template <int D>
Span span(const std::vector<double>& points, int component) {
  const std::size_t n = points.size() / D, first = static_cast<std::size_t>(component) * n;
  Span found{HUGE_VAL, -HUGE_VAL};
  for (std::size_t p = 0; p < n; ++p) {
    found.least = std::min(found.least, points[first + p]);
    found.most = std::max(found.most, points[first + p]);
  }
  return found;
}

template <int D>
Cube<D> Cube<D>::around(const std::vector<double>& a, const std::vector<double>& b) {
  Cube cube;
  cube.width = 0;
  for (std::size_t d = 0; d < D; ++d) {
    const Span one = span<D>(a, static_cast<int>(d)), other = span<D>(b, static_cast<int>(d));
    const double least = std::min(one.least, other.least), most = std::max(one.most, other.most);
    if (!(least <= most)) continue;  // no points at all
    cube.least[d] = least;
    cube.width = std::max(cube.width, most - least);
  }
  if (!(cube.width > 0)) cube.width = 1;  // all points coincide
  return cube;
}

template <int D>
Tree<D>::Tree(const std::vector<double>& points, const Cube<D>& cube, const arrays::Workers& workers) {
  const auto n = static_cast<std::int64_t>(points.size() / D);
  const double cells = std::ldexp(1.0, kHalvings), scale = cells / cube.width;
  std::vector<std::int64_t> keys(static_cast<std::size_t>(n));
  arrays::each_piece(workers, n, [&](Index, Index first, Index last) {
    for (Index p = first; p < last; ++p) {
      std::array<std::int64_t, D> places;
      for (std::size_t d = 0; d < D; ++d) {
        const double place = (points[static_cast<std::size_t>(p) + d * static_cast<std::size_t>(n)] - cube.least[d]);
        places[d] = static_cast<std::int64_t>(std::min(cells - 1, std::max(0.0, place * scale)));
      }
      keys[static_cast<std::size_t>(p)] = key_of<D>(places, kHalvings);
    }
  });
  order.resize(keys.size());
  const arrays::Keys columns({{arrays::KeyType::int64, keys.data()}}, n, workers);
  arrays::radix_order(columns, {{}, 0, workers}, order.data(), nullptr);
  for (int& number : order) --number;
  std::vector<std::int64_t> sorted(keys.size());
  for (std::size_t d = 0; d < D; ++d) components[d].resize(keys.size() + kBehind);
  arrays::each_piece(workers, n, [&](Index, Index first, Index last) {
    for (auto p = static_cast<std::size_t>(first); p < static_cast<std::size_t>(last); ++p) {
      const auto from = static_cast<std::size_t>(order[p]);
      sorted[p] = keys[from];
      for (std::size_t d = 0; d < D; ++d) components[d][p] = points[from + d * keys.size()];
    }
  });
  for (std::vector<double>& component : components)
    std::fill(component.begin() + static_cast<std::ptrdiff_t>(n), component.end(),
              n > 0 ? component[static_cast<std::size_t>(n - 1)] : 0.0);
  split(sorted);
}

template <int D>
void Tree<D>::split(const std::vector<std::int64_t>& keys) {
  boxes.push_back({Box{0, size(), 0, 0, {}}});
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

template Span span<1>(const std::vector<double>&, int);
template Span span<2>(const std::vector<double>&, int);
template Span span<3>(const std::vector<double>&, int);
template struct Cube<1>;
template struct Cube<2>;
template struct Cube<3>;
template class Tree<1>;
template class Tree<2>;
template class Tree<3>;

}  // namespace far
}  // namespace kernweave
