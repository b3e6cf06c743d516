// Kernels whose threads' work is a function of the thread's number alone: their text, and their launches.
#pragma once
#include <string>
#include <vector>
#include "device/device.hpp"

namespace kernweave {
namespace device {

// Kernels of these names, each of which calls the function of that name in one of our headers (kernweave/gpu/) with a
// task of this type and the number of the thread.
std::string text_for_each(const char* header, const char* task, const std::vector<const char*>& names);

// Starts so many threads of a kernel of a text; a task is passed as its bytes.
void launch_for_each(Device* device, const std::string& text, const char* kernel, long long count,
                     const std::vector<char>& task);

// Starts a thread for each number that the task counts.
template <class Task>
void launch_for_each(Device* device, const std::string& text, const char* kernel, const Task& task) {
  launch_for_each(device, text, kernel, task.count, arguments_of(task));
}

}  // namespace device
}  // namespace kernweave
