// One source for all kernels, which a device's compiler is given.
#include "solve/column_kernels.hpp"

#include "device/device.hpp"

namespace kernweave::solve {

const std::string& column_kernels() {
  static const std::string text = device::text_for_each(
      "factor.hpp", "ColumnTask",
      {"weighed_sum", "scaled_rows", "moved", "partial_dots", "partial_sums", "factor_by_columns",
       "factor_by_rows", "listed_pairs", "forward_rows", "entries_left", "last_columns"});
  return text;
}

void launch(device::Device* device, const char* kernel, const gpu::ColumnTask& task) {
  device::launch_for_each(device, column_kernels(), kernel, task);
}

}  // namespace kernweave::solve
