// One source for each number of components: compiled once a device, and kept with those of formulas.
#include "far/device_kernels.hpp"

#include <cstring>
#include <sstream>

#include "base/error.hpp"

namespace kernweave {
namespace far {
namespace {

constexpr int kGivenShared = 48 * 1024;  // that a block of threads may have without asking

std::string written(int components) {
  std::ostringstream out;
  out << "#include \"kernweave/gpu/far.hpp\"\n";
  const auto kernel = [&](const char* name, int threads, bool of_points) {
    out << "extern \"C\" __global__ void __launch_bounds__(" << threads << ") " << name
        << "(const kernweave::gpu::FarTask t) { kernweave::gpu::far_" << name;
    if (of_points) out << "<" << components << ">";
    out << "(t); }\n";
  };
  for (const char* name : {"added", "apply", "collected", "cleared", "sorted", "scaled", "put_back"})
    kernel(name, gpu::kFarThreads, false);
  kernel("moments", gpu::kFarThreads, true);
  kernel("evaluated", gpu::kFarEvaluated, true);
  return out.str();
}

}  // namespace

const std::string& kernels_text(int components) {
  static const std::string texts[] = {written(1), written(2), written(3)};
  return texts[components - 1];
}

void launch(device::Device* device, int components, const char* kernel, const Grid& grid, const gpu::FarTask& task) {
  if (grid.blocks == 0) return;
  const std::shared_ptr<const device::Kernels> kernels = device->kernels(kernels_text(components));
  const device::Function function = kernels->find(kernel);
  internal_check(function != nullptr, "no kernel ", kernel);
  if (grid.shared_bytes > kGivenShared) kernels->allow_shared(kernel, static_cast<int>(grid.shared_bytes));
  std::vector<char> arguments(sizeof task);
  std::memcpy(arguments.data(), &task, sizeof task);
  device->launch(function, static_cast<unsigned>(grid.blocks), static_cast<unsigned>(grid.slots), 1,
                 static_cast<unsigned>(grid.threads), static_cast<unsigned>(grid.shared_bytes), arguments);
}

}  // namespace far
}  // namespace kernweave
