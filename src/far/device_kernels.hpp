// Launches of the kernels for points in order and pairs far apart (kernweave/gpu/morton.hpp, far.hpp).
#pragma once
#include <string>
#include <vector>

#include "device/device.hpp"
#include "kernweave/gpu/far_task.hpp"

namespace kernweave {
namespace far {

// How many blocks, for each of so many slots, of how many threads, with how much shared memory.
struct Grid {
  std::int64_t blocks;
  int slots = 1;
  int threads = gpu::kFarThreads;
  std::int64_t shared_bytes = 0;
};

// The kernel of that name, for points of `components`; a task is passed as its bytes.
void launch(device::Device* device, int components, const char* kernel, const Grid& grid,
            const std::vector<char>& task);
template <class Task>
void launch(device::Device* device, int components, const char* kernel, const Grid& grid, const Task& task) {
  launch(device, components, kernel, grid, device::arguments_of(task));
}

// The text that a device's compiler is given.
const std::string& kernels_text(int components);

}  // namespace far
}  // namespace kernweave
