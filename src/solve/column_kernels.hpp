// Launches on a device of the kernels for long columns and sparse factors (kernweave/gpu/columns.hpp, factor.hpp).
#pragma once
#include "device/device.hpp"
#include "kernweave/gpu/columns.hpp"

namespace kernweave::solve {

// Runs the kernel of that name with a thread for each number that the task counts.
void launch(device::Device* device, const char* kernel, const gpu::ColumnTask& task);

// The text that a device's compiler is given.
const std::string& column_kernels();

}  // namespace kernweave::solve
