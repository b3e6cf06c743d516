// Keys are sorted by some bits after the others, from the lowest on; the host fetches what it asks for.
#include "far/device_curve.hpp"

#include <algorithm>
#include <utility>

#include "device/copy.hpp"
#include "far/device_kernels.hpp"
#include "kernweave/gpu/curve_task.hpp"

namespace kernweave {
namespace far {
namespace {

using device::address;
using device::Block;
using device::Device;
using gpu::CurveTask;

constexpr const char* kWhat = "points in order";
static_assert(sizeof(Range) == 2 * sizeof(*CurveTask::boxes), "boxes are sent as they lie");

std::int64_t blocks_for(std::int64_t threads) { return (threads + gpu::kCurveThreads - 1) / gpu::kCurveThreads; }

template <int D>
class CurveThere : public Curve<D> {
 public:
  CurveThere(const Points& points, const Cube<D>& cube, Device* device)
      : there_(std::make_shared<PointsOnDevice>()) {
    this->size_ = this->inside_ = static_cast<int>(points.size() / D);
    device->enter();
    there_->device = device;
    const bool are_there = has_copy(points.data(), *device);
    const Block sent = are_there ? Block() : room<double>(D);
    if (!are_there) device->upload(sent.at(), points.begin(), points.size() * sizeof(double));
    CurveTask task{};
    task.points = this->size_;
    task.halvings = Curve<D>::kHalvings;
    task.numbers = address<double>(are_there ? kept_copy(points.data(), device) : sent.at());
    if (are_there) task.numbers += points.component() * points.data().rows;
    std::copy(cube.least.begin(), cube.least.end(), task.least);
    task.width = cube.width;
    sort(task);
    there_->components = room<double>(D);
    task.order = address<int>(there_->order.at());
    task.components = address<double>(there_->components.at());
    launch_over(this->size_, "curve_components", task);
  }

  std::vector<int> ends_of_parts(int level, const std::vector<Range>& boxes,
                                 const arrays::Workers&) const override {
    std::vector<int> ends(boxes.size() << D);
    if (boxes.empty()) return ends;
    Device* const device = there_->device;
    device->enter();
    const std::size_t bytes = boxes.size() * sizeof(Range), of_ends = ends.size() * sizeof(int);
    const Block memory = device->allocate(bytes + of_ends, kWhat);
    device->upload(memory.at(), boxes.data(), bytes);
    CurveTask task{};
    task.keys = address<unsigned long long>(keys_.at());
    task.boxes = address<long long>(memory.at());
    task.box_count = static_cast<int>(boxes.size());
    task.behind = D * (Curve<D>::kHalvings - 1 - level);
    task.ends = address<int>(memory.at() + bytes);
    launch_over(static_cast<std::int64_t>(ends.size()), "curve_ends", task);
    device->download(ends.data(), memory.at() + bytes, of_ends);
    return ends;
  }
  void forget_keys() override { keys_ = {}; }

  const Fresh<int>& order() const override {
    if (order_.empty()) {
      order_.resize(count());
      there_->device->enter();
      there_->device->download(order_.data(), there_->order.at(), count() * sizeof(int));
    }
    return order_;
  }
  const std::array<Fresh<double>, D>& components() const override {
    const std::size_t bytes = count() * sizeof(double);
    for (std::size_t d = 0; d < D && components_[d].empty(); ++d) {
      components_[d].resize(count() + Curve<D>::kBehind);
      there_->device->enter();
      there_->device->download(components_[d].data(), there_->components.at() + d * bytes, bytes);
      std::fill(components_[d].end() - Curve<D>::kBehind, components_[d].end(), components_[d][count() - 1]);
    }
    return components_;
  }
  std::shared_ptr<const PointsOnDevice> on(Device* device) const override {
    return device == there_->device ? there_ : Curve<D>::on(device);
  }

 private:
  std::size_t count() const { return static_cast<std::size_t>(this->size_); }
  template <class Item>
  Block room(std::size_t each) const {
    return there_->device->allocate(each * count() * sizeof(Item), kWhat);
  }
  void launch_over(std::int64_t threads, const char* kernel, const CurveTask& task) const {
    launch(there_->device, D, kernel, {blocks_for(threads), 1, gpu::kCurveThreads}, task);
  }

  void sort(CurveTask task) {
    Block keys = room<unsigned long long>(1), order = room<int>(1);
    keys_ = room<unsigned long long>(1);
    there_->order = room<int>(1);
    task.keys_to = address<unsigned long long>(keys_.at());
    task.order_to = address<int>(there_->order.at());
    launch_over(this->size_, "curve_keys", task);
    task.tiles = (this->size_ + gpu::kCurveTile - 1) / gpu::kCurveTile;
    const Block counts = there_->device->allocate(
        static_cast<std::size_t>(task.tiles) * gpu::kCurveDigits * sizeof(int), kWhat);
    task.counts = address<int>(counts.at());
    for (task.shift = 0; task.shift < D * Curve<D>::kHalvings; task.shift += gpu::kCurveBits) {
      std::swap(keys, keys_);
      std::swap(order, there_->order);
      task.keys = address<unsigned long long>(keys.at());
      task.order = address<int>(order.at());
      task.keys_to = address<unsigned long long>(keys_.at());
      task.order_to = address<int>(there_->order.at());
      launch(there_->device, D, "curve_count", {task.tiles, 1, gpu::kCurveThreads}, task);
      launch(there_->device, D, "curve_places", {1, 1, gpu::kCurveScan}, task);
      launch(there_->device, D, "curve_move", {task.tiles, 1, gpu::kCurveThreads}, task);
    }
  }

  const std::shared_ptr<PointsOnDevice> there_;
  Block keys_;
  mutable Fresh<int> order_;  // fetched when first asked for, as components are
  mutable std::array<Fresh<double>, D> components_;
};

}  // namespace

template <int D>
std::unique_ptr<Curve<D>> curve_there(const Points& points, const Cube<D>& cube, Device* device) {
  return std::make_unique<CurveThere<D>>(points, cube, device);
}

template std::unique_ptr<Curve<1>> curve_there(const Points&, const Cube<1>&, Device*);
template std::unique_ptr<Curve<2>> curve_there(const Points&, const Cube<2>&, Device*);
template std::unique_ptr<Curve<3>> curve_there(const Points&, const Cube<3>&, Device*);

}  // namespace far
}  // namespace kernweave
