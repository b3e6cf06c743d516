// Is a GPU there and does it compute? What the situation report says of it.
#pragma once
#include <string>
#include <vector>
#include "base/verdict.hpp"

namespace kernweave {
namespace device {

// Can this device be used? The driver opens, the compiler or kernels compiled at installation are there, and a small
// kernel gives the right numbers. Asked once for each device; no in a process forked from one that has used a GPU.
Verdict probe(int number);

// Is there a driver with a device? Then a GPU that cannot be used is worth a message.
bool gpu_is_here();

struct Report {
  std::string driver;                // its CUDA version, or why there is none
  std::string compiler;              // version and file of NVRTC, or why there is none
  bool ahead = false;                // were kernels compiled at installation?
  std::vector<std::string> devices;  // name, capability, memory, multiprocessors
  std::string problem;               // empty: all is well
};

// The situation report. Starts the driver, and the first device to probe it.
Report report();

}  // namespace device
}  // namespace kernweave
