// One source for all kernels of a header: compiled once a device, and kept with those of formulas.
#include "device/for_each.hpp"

#include <sstream>

#include "base/error.hpp"

namespace kernweave {
namespace device {
namespace {

constexpr unsigned kThreads = 256;

}  // namespace

std::string text_for_each(const char* header, const char* task, const std::vector<const char*>& names) {
  std::ostringstream out;
  out << "#include \"kernweave/gpu/" << header << "\"\n";
  for (const char* name : names)
    out << "extern \"C\" __global__ void __launch_bounds__(" << kThreads << ") " << name
        << "(const kernweave::gpu::" << task << " t) {\n"
        << "  const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;\n"
        << "  if (at < t.count) kernweave::gpu::" << name << "(t, at);\n}\n";
  return out.str();
}

void launch_for_each(Device* device, const std::string& text, const char* kernel, long long count,
                     const std::vector<char>& task) {
  if (count == 0) return;
  device->enter();
  const Function function = device->kernels(text)->find(kernel);
  internal_check(function != nullptr, "no kernel ", kernel);
  device->launch(function, static_cast<unsigned>((count + kThreads - 1) / kThreads), 1, 1, kThreads, 0, task);
}

}  // namespace device
}  // namespace kernweave
