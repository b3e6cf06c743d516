// Numbers that stay on a device from one call to the next, and how far points reach there.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>
#include "base/view.hpp"
#include "device/device.hpp"

namespace kernweave {
namespace device {

template <class T>
T* address(Pointer at) {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(at));
}

// Makes memory that holds numbers a copy, which keeps it.
std::unique_ptr<Copy> copy_in(Device* device, Block block);
// Sends data to a device.
std::unique_ptr<Copy> sent_bytes(const void* data, std::size_t bytes, Device* device);
std::unique_ptr<Copy> sent_copy(const View& view, Device* device);

// Tells whether the data have a copy on this device.
bool has_copy(const View& view, const Device& device);
// Their copy, which is made where there is none: of the host's numbers, or of what another device has.
Pointer kept_copy(const View& view, Device* device);

// --- cloud ---------------------------------------------------------------------------------------------------------
// Reads points on their device: some rows of the points, and how far the points reach (kernweave/gpu/cloud.hpp).

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
