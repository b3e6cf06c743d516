// A radix sort of Morton keys, from the lowest bits on; the host fetches what it asks for.
#include "far/device_product.hpp"

#include <algorithm>
#include <utility>

#include "device/copy.hpp"
#include "kernweave/gpu/morton_task.hpp"

namespace kernweave {
namespace far {
namespace {

using device::address;
using device::Block;
using device::Device;
using gpu::MortonTask;

constexpr const char* kWhat = "points in order";
static_assert(sizeof(Range) == 2 * sizeof(*MortonTask::boxes), "boxes are sent as they lie");

std::int64_t blocks_for(std::int64_t threads) { return (threads + gpu::kMortonThreads - 1) / gpu::kMortonThreads; }

template <int D>
class DeviceMortonOrder : public MortonOrder<D> {
 public:
  DeviceMortonOrder(const Points& points, const Cube<D>& cube, Device* device)
      : points_(std::make_shared<SortedDevicePoints>()) {
    this->size_ = this->inside_ = static_cast<int>(points.size() / D);
    device->enter();
    points_->device = device;
    const bool are_there = has_copy(points.data(), *device);
    const Block sent = are_there ? Block() : room<double>(D);
    if (!are_there) device->upload(sent.at(), points.begin(), points.size() * sizeof(double));
    MortonTask task{};
    task.points = this->size_;
    task.halvings = MortonOrder<D>::kHalvings;
    task.numbers = address<double>(are_there ? kept_copy(points.data(), device) : sent.at());
    if (are_there) task.numbers += points.component() * points.data().rows;
    std::copy(cube.least.begin(), cube.least.end(), task.least);
    task.width = cube.width;
    sort(task);
    points_->components = room<double>(D);
    task.order = address<int>(points_->order.at());
    task.components = address<double>(points_->components.at());
    launch_over(this->size_, "morton_components", task);
  }

  std::vector<int> ends_of_parts(int level, const std::vector<Range>& boxes,
                                 const arrays::Workers&) const override {
    std::vector<int> ends(boxes.size() << D);
    if (boxes.empty()) return ends;
    Device* const device = points_->device;
    device->enter();
    const std::size_t bytes = boxes.size() * sizeof(Range), of_ends = ends.size() * sizeof(int);
    const Block memory = device->allocate(bytes + of_ends, kWhat);
    device->upload(memory.at(), boxes.data(), bytes);
    MortonTask task{};
    task.keys = address<unsigned long long>(keys_.at());
    task.boxes = address<long long>(memory.at());
    task.box_count = static_cast<int>(boxes.size());
    task.behind = D * (MortonOrder<D>::kHalvings - 1 - level);
    task.ends = address<int>(memory.at() + bytes);
    launch_over(static_cast<std::int64_t>(ends.size()), "morton_ends", task);
    device->download(ends.data(), memory.at() + bytes, of_ends);
    return ends;
  }
  void forget_keys() override { keys_ = {}; }

  const Fresh<int>& order() const override {
    if (order_.empty()) {
      order_.resize(count());
      points_->device->enter();
      points_->device->download(order_.data(), points_->order.at(), count() * sizeof(int));
    }
    return order_;
  }
  const std::array<Fresh<double>, D>& components() const override {
    const std::size_t bytes = count() * sizeof(double);
    for (std::size_t d = 0; d < D && components_[d].empty(); ++d) {
      components_[d].resize(count() + MortonOrder<D>::kBehind);
      points_->device->enter();
      points_->device->download(components_[d].data(), points_->components.at() + d * bytes, bytes);
      std::fill(components_[d].end() - MortonOrder<D>::kBehind, components_[d].end(), components_[d][count() - 1]);
    }
    return components_;
  }
  std::shared_ptr<const SortedDevicePoints> on(Device* device) const override {
    return device == points_->device ? points_ : MortonOrder<D>::on(device);
  }

 private:
  std::size_t count() const { return static_cast<std::size_t>(this->size_); }
  template <class Item>
  Block room(std::size_t each) const {
    return points_->device->allocate(each * count() * sizeof(Item), kWhat);
  }
  void launch_over(std::int64_t threads, const char* kernel, const MortonTask& task) const {
    launch(points_->device, D, kernel, {blocks_for(threads), 1, gpu::kMortonThreads}, task);
  }

  void sort(MortonTask task) {
    Block keys = room<unsigned long long>(1), order = room<int>(1);
    keys_ = room<unsigned long long>(1);
    points_->order = room<int>(1);
    task.keys_to = address<unsigned long long>(keys_.at());
    task.order_to = address<int>(points_->order.at());
    launch_over(this->size_, "morton_keys", task);
    task.tiles = (this->size_ + gpu::kMortonTile - 1) / gpu::kMortonTile;
    const Block counts = points_->device->allocate(
        static_cast<std::size_t>(task.tiles) * gpu::kMortonDigits * sizeof(int), kWhat);
    task.counts = address<int>(counts.at());
    for (task.shift = 0; task.shift < D * MortonOrder<D>::kHalvings; task.shift += gpu::kMortonBits) {
      std::swap(keys, keys_);
      std::swap(order, points_->order);
      task.keys = address<unsigned long long>(keys.at());
      task.order = address<int>(order.at());
      task.keys_to = address<unsigned long long>(keys_.at());
      task.order_to = address<int>(points_->order.at());
      launch(points_->device, D, "morton_count", {task.tiles, 1, gpu::kMortonThreads}, task);
      launch(points_->device, D, "morton_places", {1, 1, gpu::kMortonScan}, task);
      launch(points_->device, D, "morton_move", {task.tiles, 1, gpu::kMortonThreads}, task);
    }
  }

  const std::shared_ptr<SortedDevicePoints> points_;
  Block keys_;
  mutable Fresh<int> order_;  // fetched when first asked for, as components are
  mutable std::array<Fresh<double>, D> components_;
};

}  // namespace

template <int D>
std::unique_ptr<MortonOrder<D>> device_morton_order(const Points& points, const Cube<D>& cube, Device* device) {
  return std::make_unique<DeviceMortonOrder<D>>(points, cube, device);
}

template std::unique_ptr<MortonOrder<1>> device_morton_order(const Points&, const Cube<1>&, Device*);
template std::unique_ptr<MortonOrder<2>> device_morton_order(const Points&, const Cube<2>&, Device*);
template std::unique_ptr<MortonOrder<3>> device_morton_order(const Points&, const Cube<3>&, Device*);

}  // namespace far
}  // namespace kernweave
