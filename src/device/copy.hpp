// Numbers that stay on a device from one call to the next: data that were sent there once, and results.
#pragma once
#include <cstdint>
#include <memory>
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

}  // namespace device
}  // namespace kernweave
