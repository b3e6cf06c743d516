// Kernels leave few numbers, which are fetched.
#include "device/cloud.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "device/copy.hpp"
#include "device/for_each.hpp"
#include "kernweave/gpu/cloud.hpp"

namespace kernweave {
namespace device {
namespace {

constexpr const char* kWhat = "what is asked of points";

gpu::CloudTask task_of(const Cloud& cloud) {
  gpu::CloudTask task{};
  task.rows = cloud.rows;
  task.columns = cloud.columns;
  task.points = address<const double>(cloud.at);
  return task;
}

// Runs a kernel and returns its numbers, a number from each thread.
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
