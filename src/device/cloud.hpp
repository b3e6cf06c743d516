// Reads points on their device: some rows of the points, and how far the points reach (kernweave/gpu/cloud.hpp).
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "device/device.hpp"

namespace kernweave {
namespace device {

// Points on a device, column by column.
struct Cloud {
  Pointer at;
  std::int64_t rows, columns;
};

// Rows 0, step, 2 step, ..., column by column.
std::vector<double> some_rows(const Cloud& cloud, std::int64_t step, Device* device);
// The largest squared distance of a row from a point; NaN where one is not finite.
double reach(const Cloud& cloud, const std::vector<double>& centre, Device* device);

// The text that a device's compiler is given.
const std::string& cloud_kernels();

}  // namespace device
}  // namespace kernweave
