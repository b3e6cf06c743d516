// Morton keys: the bits of a point's places along the axes, interleaved, so that all points of a box have its first
// bits.
#include "far/morton_order.hpp"

#include <algorithm>
#include <cmath>

#include "arrays/keys.hpp"

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

// Interleaved bits of the places, the highest first.
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

  // Keys are looked up by the order of points: they lie as points came.
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
  // Keys; those of points outside of the cube are arbitrary.
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
    const int behind = D * (MortonOrder<D>::kHalvings - 1 - level);  // bits of places within a part
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

}  // namespace far
}  // namespace kernweave
