// A copy lives in a block of its device's pool; views know their copies by the devices' numbers.
#include "device/copy.hpp"

#include <mutex>
#include <vector>

#include "base/error.hpp"
#include "device/cloud.hpp"
#include "device/nvrtc.hpp"

namespace kernweave {
namespace device {
namespace {

class DeviceCopy : public Copy {
 public:
  DeviceCopy(Device* device, Block block) : device_(device), block_(std::move(block)) {}
  void fetch(void* to, std::size_t bytes) const override {
    user_check(!opened_by_parent(), Fault::no_device,
               "numbers on a GPU cannot be fetched in a forked process; look at them before forking");
    device_->enter();
    device_->download(to, block_.at(), bytes);
  }
  std::optional<std::vector<double>> some_rows(const View& points, std::int64_t step) const override {
    if (!is_worth_kernels(points)) return {};
    return device::some_rows({at(), points.rows, points.columns}, step, device_);
  }
  std::optional<double> reach(const View& points, const std::vector<double>& centre) const override {
    if (!is_worth_kernels(points)) return {};
    return device::reach({at(), points.rows, points.columns}, centre, device_);
  }
  Pointer at() const { return block_.at(); }

 private:
  // Few numbers are fetched before their kernels are compiled.
  static bool is_worth_kernels(const View& points) {
    constexpr std::int64_t kFew = 1 << 17;
    return points.rows * points.columns > kFew && !opened_by_parent() && compiler().found;
  }

  Device* device_;
  Block block_;
};

// Guards copies: threads of several devices look for them, and leave theirs.
std::mutex copies_mutex;

// Copy of numbers that only another device has, by way of the host.
std::unique_ptr<Copy> forwarded_copy(const View& view, Device* device) {
  std::vector<double> numbers(static_cast<std::size_t>(view.numbers()));
  internal_check(!view.kept->copies.empty(), "data that are nowhere");
  view.kept->copies.begin()->second->fetch(numbers.data(), numbers.size() * sizeof(double));
  device->enter();
  return sent_copy({numbers.data(), view.numbers(), 1}, device);
}

}  // namespace

std::unique_ptr<Copy> copy_in(Device* device, Block block) {
  return std::make_unique<DeviceCopy>(device, std::move(block));
}

std::unique_ptr<Copy> sent_bytes(const void* data, std::size_t bytes, Device* device) {
  Block block = device->allocate(bytes, "the data");
  device->upload(block.at(), data, bytes);
  device->wait();
  return copy_in(device, std::move(block));
}

std::unique_ptr<Copy> sent_copy(const View& view, Device* device) {
  return sent_bytes(view.data - view.before, static_cast<std::size_t>(view.numbers()) * sizeof(double), device);
}

bool has_copy(const View& view, const Device& device) {
  const std::lock_guard<std::mutex> lock(copies_mutex);
  return view.kept && view.kept->copies.count(device.number()) > 0;
}

Pointer kept_copy(const View& view, Device* device) {
  const std::lock_guard<std::mutex> lock(copies_mutex);
  auto at = view.kept->copies.find(device->number());
  if (at == view.kept->copies.end())
    at = view.kept->copies.emplace(device->number(), view.data ? sent_copy(view, device) : forwarded_copy(view, device))
             .first;
  return static_cast<const DeviceCopy&>(*at->second).at() + static_cast<Pointer>(view.before) * sizeof(double);
}

}  // namespace device
}  // namespace kernweave
