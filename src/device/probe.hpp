// Probes whether a GPU is there and computes, for the situation report.
#pragma once
#include <string>
#include <vector>
#include "base/verdict.hpp"

namespace kernweave {
namespace device {

// Tells whether this device can be used: the driver opens, the compiler or kernels compiled at installation are there,
// and a small kernel gives the right numbers. Each device is probed once. The answer is no in a process forked from a
// process that has used a GPU.
Verdict probe(int number);

// Tells whether there is a driver with a device. If so, a GPU that cannot be used is worth a message.
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
