// Numbers that stay on a device from one call to the next, and how far points there reach.
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

// Makes a Copy from device memory that holds numbers; the Copy keeps the memory.
std::unique_ptr<Copy> copy_in(Device* device, Block block);
// Sends data to a device.
std::unique_ptr<Copy> sent_bytes(const void* data, std::size_t bytes, Device* device);
std::unique_ptr<Copy> sent_copy(const View& view, Device* device);

// Tells whether the data have a copy on this device.
bool has_copy(const View& view, const Device& device);
// Returns the address of the data's copy. If there is none, makes one from the host's numbers or from another device's.
Pointer kept_copy(const View& view, Device* device);

// --- cloud ---------------------------------------------------------------------------------------------------------
// Reads points on their device: some rows of the points, and how far the points reach (kernweave/gpu/cloud.hpp).

// Points on a device, stored column by column.
struct Cloud {
  Pointer at;
  std::int64_t rows, columns;
};

// Returns rows 0, step, 2 step, ..., column by column.
std::vector<double> some_rows(const Cloud& cloud, std::int64_t step, Device* device);
// Returns the largest squared distance of a row from the centre; NaN if a distance is not finite.
double reach(const Cloud& cloud, const std::vector<double>& centre, Device* device);

// Returns the source of the kernels.
const std::string& cloud_kernels();

}  // namespace device
}  // namespace kernweave
