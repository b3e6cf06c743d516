// Copies of data on devices: a copy is a block of its device's pool, and a view finds its copies by device number.
#include "device/copy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <vector>

#include "base/error.hpp"
#include "device/device.hpp"
#include "device/nvrtc.hpp"
#include "kernweave/gpu/cloud.hpp"

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
  // Few numbers are downloaded faster than their kernels are compiled.
  static bool is_worth_kernels(const View& points) {
    constexpr std::int64_t kFew = 1 << 17;
    return points.rows * points.columns > kFew && is_usable() && compiler().found;
  }

  Device* device_;
  Block block_;
};

// Guards copies: threads of several devices look for copies, and store theirs.
std::mutex copies_mutex;

// Copies numbers that only another device has, through the host.
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

// --- cloud ---------------------------------------------------------------------------------------------------------
// Kernels leave few numbers, which are downloaded.

namespace {

constexpr const char* kWhat = "what is asked of points";

gpu::CloudTask task_of(const Cloud& cloud) {
  gpu::CloudTask task{};
  task.rows = cloud.rows;
  task.columns = cloud.columns;
  task.points = address<const double>(cloud.at);
  return task;
}

// Runs a kernel and returns its numbers, one number from each thread.
std::vector<double> found(const char* kernel, const gpu::CloudTask& task, Pointer out, Device* device) {
  launch_for_each(device, cloud_kernels(), kernel, task);
  std::vector<double> numbers(static_cast<std::size_t>(task.count));
  device->download(numbers.data(), out, numbers.size() * sizeof(double));
  return numbers;
}

}  // namespace

const std::string& cloud_kernels() {
  static const std::string text = text_for_each("cloud.hpp", "CloudTask", {"some_rows", "partial_reach"});
  return text;
}

std::vector<double> some_rows(const Cloud& cloud, std::int64_t step, Device* device) {
  device->enter();
  gpu::CloudTask task = task_of(cloud);
  task.step = step;
  task.count = (cloud.rows + step - 1) / step * cloud.columns;
  const Block out = device->allocate(static_cast<std::size_t>(task.count) * sizeof(double), kWhat);
  task.out = address<double>(out.at());
  return found("some_rows", task, out.at(), device);
}

double reach(const Cloud& cloud, const std::vector<double>& centre, Device* device) {
  constexpr std::int64_t kParts = 16384;  // enough threads for a device, and few numbers to fetch
  device->enter();
  gpu::CloudTask task = task_of(cloud);
  task.count = std::min(kParts, cloud.rows);
  const std::size_t centre_bytes = centre.size() * sizeof(double);
  const Block memory = device->allocate(centre_bytes + static_cast<std::size_t>(task.count) * sizeof(double), kWhat);
  const Pointer out = memory.at() + centre_bytes;
  device->upload(memory.at(), centre.data(), centre_bytes);
  task.centre = address<const double>(memory.at());
  task.out = address<double>(out);
  double most = 0;
  for (const double part : found("partial_reach", task, out, device)) {
    if (!std::isfinite(part)) return std::numeric_limits<double>::quiet_NaN();
    most = std::max(most, part);
  }
  return most;
}

}  // namespace device
}  // namespace kernweave
