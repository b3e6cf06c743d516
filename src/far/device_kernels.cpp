// One source for each number of components: compiled once a device, and kept with those of formulas.
#include "far/device_product.hpp"

#include <sstream>

#include "base/error.hpp"
#include "kernweave/gpu/morton_task.hpp"

namespace kernweave {
namespace far {
namespace {

constexpr int kGivenShared = 48 * 1024;  // that a block of threads may have without asking

std::string written(int components) {
  std::ostringstream out;
  out << "#include \"kernweave/gpu/far.hpp\"\n#include \"kernweave/gpu/morton.hpp\"\n";
  const auto kernel = [&](const char* task, const char* name, int threads, bool of_points) {
    out << "extern \"C\" __global__ void __launch_bounds__(" << threads << ") " << name << "(const kernweave::gpu::"
        << task << "Task t) { kernweave::gpu::" << name;
    if (of_points) out << "<" << components << ">";
    out << "(t); }\n";
  };
  for (const char* name :
       {"far_added", "far_apply", "far_collected", "far_cleared", "far_sorted", "far_scaled", "far_put_back"})
    kernel("Far", name, gpu::kFarThreads, false);
  kernel("Far", "far_moments", gpu::kFarThreads, true);
  kernel("Far", "far_evaluated", gpu::kFarEvaluated, true);
  for (const char* name : {"morton_count", "morton_move"}) kernel("Morton", name, gpu::kMortonThreads, false);
  kernel("Morton", "morton_places", gpu::kMortonScan, false);
  for (const char* name : {"morton_keys", "morton_components", "morton_ends"})
    kernel("Morton", name, gpu::kMortonThreads, true);
  return out.str();
}

}  // namespace

const std::string& kernels_text(int components) {
  static const std::string texts[] = {written(1), written(2), written(3)};
  return texts[components - 1];
}

void launch(device::Device* device, int components, const char* kernel, const Grid& grid,
            const std::vector<char>& task) {
  if (grid.blocks == 0) return;
  const std::shared_ptr<const device::Kernels> kernels = device->kernels(kernels_text(components));
  const device::Function function = kernels->find(kernel);
  internal_check(function != nullptr, "no kernel ", kernel);
  if (grid.shared_bytes > kGivenShared) kernels->allow_shared(kernel, static_cast<int>(grid.shared_bytes));
  device->launch(function, static_cast<unsigned>(grid.blocks), static_cast<unsigned>(grid.slots), 1,
                 static_cast<unsigned>(grid.threads), static_cast<unsigned>(grid.shared_bytes), task);
}

}  // namespace far
}  // namespace kernweave
