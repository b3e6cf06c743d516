// One source for all kernels: compiled once a device, and kept with those of formulas.
#include "solve/column_kernels.hpp"

#include <cstring>
#include <sstream>

#include "base/error.hpp"

namespace kernweave::solve {
namespace {

constexpr unsigned kThreads = 256;
const char* const kNames[] = {"weighed_sum",   "scaled_rows",       "moved",          "partial_dots", "partial_sums",
                              "partial_forms", "factor_by_columns", "factor_by_rows", "listed_pairs", "forward_rows",
                              "entries_left",  "last_columns"};

std::string written() {
  std::ostringstream out;
  out << "#include \"kernweave/gpu/factor.hpp\"\n";
  for (const char* name : kNames)
    out << "extern \"C\" __global__ void __launch_bounds__(" << kThreads << ") " << name
        << "(const kernweave::gpu::ColumnTask t) {\n"
        << "  const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;\n"
        << "  if (at < t.count) kernweave::gpu::" << name << "(t, at);\n}\n";
  return out.str();
}

}  // namespace

const std::string& column_kernels() {
  static const std::string text = written();
  return text;
}

void launch(device::Device* device, const char* kernel, const gpu::ColumnTask& task) {
  if (task.count == 0) return;
  device->enter();
  const device::Function function = device->kernels(column_kernels())->find(kernel);
  internal_check(function != nullptr, "no kernel ", kernel);
  std::vector<char> arguments(sizeof task);
  std::memcpy(arguments.data(), &task, sizeof task);
  device->launch(function, static_cast<unsigned>((task.count + kThreads - 1) / kThreads), 1, 1, kThreads, 0, arguments);
}

}  // namespace kernweave::solve
