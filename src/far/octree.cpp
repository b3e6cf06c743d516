// Makes the boxes, Morton order and cube of an octree. A box has a child for each of its 2^D parts that has points.
#include "far/octree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "arrays/keys.hpp"

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

// --- morton order ---------------------------------------------------------------------------------------------------
// Morton keys: the bits of a point's positions along the axes, interleaved, so that the keys of all points of a box
// have the same first bits.

namespace {

// The bits of each byte, D positions apart.
using SpreadBytes = std::array<std::int64_t, 256>;
template <int D>
SpreadBytes spread_bytes() {
  SpreadBytes out{};
  for (std::size_t byte = 0; byte < out.size(); ++byte)
    for (int bit = 0; bit < 8; ++bit) out[byte] |= static_cast<std::int64_t>(byte >> bit & 1) << (bit * D);
  return out;
}

// Interleaves the bits of the positions, the highest first.
template <int D>
std::int64_t key_of(const std::array<std::int64_t, D>& places, const SpreadBytes& spread) {
  std::int64_t key = 0;
  for (int d = 0; d < D; ++d)
    for (int byte = 0; 8 * byte < MortonOrder<D>::kHalvings; ++byte) {
      const auto bits = static_cast<std::size_t>(places[static_cast<std::size_t>(d)] >> (8 * byte) & 255);
      key |= spread[bits] << (8 * byte * D + D - 1 - d);
    }
  return key;
}

template <int D>
class HostMortonOrder : public MortonOrder<D> {
 public:
  HostMortonOrder(const Points& points, const Cube<D>& cube, const arrays::Workers& workers) {
    this->size_ = static_cast<int>(points.size() / D);
    take_keys(points, cube, workers);
    order_points(points, cube, workers);
    take_components(points, workers);
  }

  // The keys are in the order of the data, so the key of a sorted point is read by the point's number.
  std::vector<int> ends_of_parts(int level, const std::vector<Range>& boxes,
                                 const arrays::Workers& workers) const override {
    constexpr Index kTogether = 64;  // boxes that a thread takes
    const auto count = static_cast<Index>(boxes.size());
    std::vector<int> ends(boxes.size() << D);
    arrays::each_task(workers, (count + kTogether - 1) / kTogether, [&](Index task) {
      for (Index b = task * kTogether; b < std::min(count, (task + 1) * kTogether); ++b)
        find_ends(level, boxes[static_cast<std::size_t>(b)], &ends[static_cast<std::size_t>(b) << D]);
    });
    return ends;
  }
  void forget_keys() override { keys_ = {}; }

  const Fresh<int>& order() const override { return order_; }
  const std::array<Fresh<double>, D>& components() const override { return components_; }

 private:
  // Computes keys; keys of points outside of the cube are arbitrary.
  void take_keys(const Points& points, const Cube<D>& cube, const arrays::Workers& workers) {
    const double cells = std::ldexp(1.0, MortonOrder<D>::kHalvings), scale = cells / cube.width;
    const SpreadBytes spread = spread_bytes<D>();
    keys_.resize(points.size() / D);
    arrays::each_piece(workers, this->size_, [&](Index, Index first, Index last) {
      for (auto p = static_cast<std::size_t>(first); p < static_cast<std::size_t>(last); ++p) {
        const std::array<double, D> point = point_of<D>(points, p);
        std::array<std::int64_t, D> places;
        for (std::size_t d = 0; d < D; ++d)
          places[d] = static_cast<std::int64_t>(std::min(cells - 1, std::max(0.0, (point[d] - cube.least[d]) * scale)));
        keys_[p] = key_of<D>(places, spread);
      }
    });
  }

  void order_points(const Points& points, const Cube<D>& cube, const arrays::Workers& workers) {
    order_.resize(keys_.size());
    const arrays::Keys columns({{arrays::KeyType::int64, keys_.data()}}, this->size_, workers);
    arrays::radix_order(columns, {{}, 0, workers}, order_.data(), nullptr);
    arrays::each_piece(workers, this->size_, [&](Index, Index first, Index last) {
      for (Index k = first; k < last; ++k) --order_[static_cast<std::size_t>(k)];
    });
    this->inside_ = this->size_;
    if (cube.has_all) return;
    const auto is_inside = [&](int p) { return cube.has(point_of<D>(points, static_cast<std::size_t>(p))); };
    this->inside_ =
        static_cast<int>(std::stable_partition(order_.begin(), order_.end(), is_inside) - order_.begin());
  }

  void take_components(const Points& points, const arrays::Workers& workers) {
    const std::size_t n = keys_.size();
    for (Fresh<double>& component : components_) component.resize(n + MortonOrder<D>::kBehind);
    arrays::each_piece(workers, this->size_, [&](Index, Index first, Index last) {
      for (auto p = static_cast<std::size_t>(first); p < static_cast<std::size_t>(last); ++p)
        for (std::size_t d = 0; d < D; ++d) components_[d][p] = points[static_cast<std::size_t>(order_[p]) + d * n];
    });
    for (Fresh<double>& component : components_)
      std::fill(component.begin() + static_cast<std::ptrdiff_t>(n), component.end(), n > 0 ? component[n - 1] : 0.0);
  }

  void find_ends(int level, const Range& box, int* ends) const {
    const int behind = D * (MortonOrder<D>::kHalvings - 1 - level);  // bits of positions within a part
    const auto part_of = [&](int point) {
      return static_cast<int>(keys_[static_cast<std::size_t>(point)] >> behind & ((1 << D) - 1));
    };
    auto begin = order_.begin() + box.from;
    for (int part = 0; part < 1 << D; ++part) {
      begin = std::partition_point(begin, order_.begin() + box.to, [&](int point) { return part_of(point) <= part; });
      ends[part] = static_cast<int>(begin - order_.begin());
    }
  }

  Fresh<std::int64_t> keys_;
  Fresh<int> order_;
  std::array<Fresh<double>, D> components_;
};

}  // namespace

template <int D>
std::shared_ptr<const SortedDevicePoints> MortonOrder<D>::on(device::Device* device) const {
  const std::size_t bytes = static_cast<std::size_t>(size_) * sizeof(double);
  auto found = std::make_shared<SortedDevicePoints>(
      SortedDevicePoints{device, device->allocate(std::max<std::size_t>(bytes / 2, 1), "the order of points"),
                     device->allocate(std::max<std::size_t>(bytes * D, 1), "points of boxes")});
  if (size_ > 0) device->upload(found->order.at(), order().data(), bytes / 2);
  for (std::size_t d = 0; d < D && size_ > 0; ++d)
    device->upload(found->components.at() + d * bytes, components()[d].data(), bytes);
  return found;
}

template <int D>
std::unique_ptr<MortonOrder<D>> morton_order(const Points& points, const Cube<D>& cube,
                                             const arrays::Workers& workers) {
  return std::make_unique<HostMortonOrder<D>>(points, cube, workers);
}

template class MortonOrder<1>;
template class MortonOrder<2>;
template class MortonOrder<3>;
template std::unique_ptr<MortonOrder<1>> morton_order(const Points&, const Cube<1>&, const arrays::Workers&);
template std::unique_ptr<MortonOrder<2>> morton_order(const Points&, const Cube<2>&, const arrays::Workers&);
template std::unique_ptr<MortonOrder<3>> morton_order(const Points&, const Cube<3>&, const arrays::Workers&);

// --- cube -----------------------------------------------------------------------------------------------------------
// Finds outliers by a sample of each side, without the sample's ends.

namespace {

// Outliers lie farther than kFarAway widths of the trimmed samples from the samples. A side has at most the share
// kMostOutliers of outliers, or one outlier.
constexpr std::size_t kSample = 4096, kOfEnds = 64;  // the share 1 / kOfEnds is left out at each end
constexpr double kFarAway = 1000, kMostOutliers = 0.001;

// Returns the bounding box of all points. Adds 0 times each number to `nothing`: it stays 0 if all numbers are finite.
template <int D>
BoundingBox<D> ends_of(const Points& points, const arrays::Workers& workers, double* nothing) {
  BoundingBox<D> all;
  std::mutex door;
  arrays::each_piece(workers, static_cast<Index>(points.size() / D), [&](Index, Index first, Index last) {
    BoundingBox<D> mine;
    double of_mine = 0;
    for (Index p = first; p < last; ++p) {
      const std::array<double, D> point = point_of<D>(points, static_cast<std::size_t>(p));
      mine.take(point);
      for (const double number : point) of_mine += 0 * number;
    }
    const std::lock_guard<std::mutex> inside(door);
    all.take(mine);
    *nothing += of_mine;
  });
  return all;
}

template <int D>
void put_fence(const Points& points, BoundingBox<D>* fence) {
  const std::size_t count = points.size() / D, step = count / kSample + 1;
  for (std::size_t d = 0; d < D && count > 0; ++d) {
    std::vector<double> sample;
    for (std::size_t p = 0; p < count; p += step) sample.push_back(points[p + d * count]);
    const auto at = [&](std::size_t place) {
      std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(place), sample.end());
      return sample[place];
    };
    const std::size_t end = sample.size() / kOfEnds;
    fence->least[d] = std::min(fence->least[d], at(end));
    fence->most[d] = std::max(fence->most[d], at(sample.size() - 1 - end));
  }
}

// Finds the bounding box of the points within the fence; false if too many points are outside.
template <int D>
bool are_within(const Points& points, const BoundingBox<D>& fence, BoundingBox<D>* within) {
  const std::size_t count = points.size() / D;
  double outliers = 0;
  for (std::size_t p = 0; p < count; ++p) {
    const std::array<double, D> point = point_of<D>(points, p);
    if (fence.has(point)) within->take(point);
    else ++outliers;
  }
  return outliers <= 1 + kMostOutliers * static_cast<double>(count);
}

template <int D>
Cube<D> cube_of(const BoundingBox<D>& rows, const BoundingBox<D>& columns, bool has_all) {
  Cube<D> cube;
  cube.has_all = has_all;
  cube.of_rows = rows;
  cube.of_columns = columns;
  BoundingBox<D> all = rows;
  all.take(columns);
  if (!all.any()) return cube;
  cube.least = all.least;
  if (all.width() > 0) cube.width = all.width();  // else all points coincide
  return cube;
}

}  // namespace

template <int D>
BoundingBox<D>::BoundingBox() {
  least.fill(HUGE_VAL);
  most.fill(-HUGE_VAL);
}
template <int D>
void BoundingBox<D>::take(const std::array<double, D>& point) {
  for (std::size_t d = 0; d < D; ++d) {
    least[d] = std::min(least[d], point[d]);
    most[d] = std::max(most[d], point[d]);
  }
}
template <int D>
void BoundingBox<D>::take(const BoundingBox& other) {
  for (std::size_t d = 0; d < D; ++d) {
    least[d] = std::min(least[d], other.least[d]);
    most[d] = std::max(most[d], other.most[d]);
  }
}
template <int D>
bool BoundingBox<D>::has(const std::array<double, D>& point) const {
  for (std::size_t d = 0; d < D; ++d)
    if (!(least[d] <= point[d] && point[d] <= most[d])) return false;
  return true;
}
template <int D>
double BoundingBox<D>::width() const {
  double width = 0;
  for (std::size_t d = 0; d < D; ++d) width = std::max(width, most[d] - least[d]);
  return width;
}

template <int D>
bool Cube<D>::has(const std::array<double, D>& point) const {
  for (std::size_t d = 0; d < D; ++d) {
    const double along = point[d] - least[d];
    if (!(along >= 0 && along <= width)) return false;
  }
  return true;
}

template <int D>
Cube<D> Cube<D>::around(const Points& rows, const Points& columns, const arrays::Workers& workers) {
  const bool one = &rows == &columns;
  double nothing = 0;
  const BoundingBox<D> of_rows = ends_of<D>(rows, workers, &nothing),
                of_columns = one ? of_rows : ends_of<D>(columns, workers, &nothing);
  Cube<D> all = cube_of(of_rows, of_columns, true);
  if (nothing != 0) {
    all.width = std::numeric_limits<double>::quiet_NaN();
    return all;
  }
  BoundingBox<D> fence, rows_within, columns_within;
  put_fence<D>(rows, &fence);
  if (!one) put_fence<D>(columns, &fence);
  const double farther = kFarAway * fence.width();
  for (std::size_t d = 0; d < D; ++d) {
    fence.least[d] -= farther;
    fence.most[d] += farther;
  }
  const bool none = fence.width() >= all.width || !(fence.width() > 0);
  if (none || !are_within(rows, fence, &rows_within)) return all;
  if (!one && !are_within(columns, fence, &columns_within)) return all;
  return cube_of(rows_within, one ? rows_within : columns_within, false);
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

template struct BoundingBox<1>;
template struct BoundingBox<2>;
template struct BoundingBox<3>;
template struct Cube<1>;
template struct Cube<2>;
template struct Cube<3>;
template struct Centre<1>;
template struct Centre<2>;
template struct Centre<3>;

}  // namespace far
}  // namespace kernweave
