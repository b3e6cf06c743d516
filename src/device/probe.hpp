// Is a GPU there and does it compute? What the situation report says of it.
#pragma once
#include <string>
#include <vector>
#include "base/verdict.hpp"

namespace kernweave {
namespace device {

// Found once for each device: the driver opens, the compiler or kernels compiled at installation are there, and a small
// kernel gives the right numbers. No in a process forked from one that has used a GPU.
Verdict probe(int number);

// Is there a driver with a device, so that a GPU that cannot be used is worth a word?
bool gpu_is_here();

struct Report {
  std::string driver;                // its CUDA version, or why there is none
  std::string compiler;              // version and file of NVRTC, or why there is none
  bool ahead = false;                // were kernels compiled at installation?
  std::vector<std::string> devices;  // name, capability, memory, multiprocessors
  std::string problem;               // empty: all is well
};

// Starts the driver but no device, unless the probe has.
Report report();

}  // namespace device
}  // namespace kernweave
