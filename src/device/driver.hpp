// The CUDA driver, opened at the first use: our declarations of its functions, and the probe of a GPU.
#pragma once
#include <cstddef>
#include <string>
#include <vector>
#include "base/error.hpp"

namespace kernweave {
namespace device {

using Status = int;  // 0: success
using DeviceId = int;
using Context = struct ContextTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using Stream = struct StreamTag*;
using Pointer = unsigned long long;  // a pointer to memory of the device

// CUresult
constexpr Status kOutOfMemory = 2;

// CUdevice_attribute
constexpr int kProcessors = 16, kMajor = 75, kMinor = 76;

// CUfunction_attribute
constexpr int kDynamicShared = 8;

struct Driver {
  Status (*cuInit)(unsigned flags);
  Status (*cuDriverGetVersion)(int* version);
  Status (*cuDeviceGetCount)(int* count);
  Status (*cuDeviceGet)(DeviceId* device, int ordinal);
  Status (*cuDeviceGetName)(char* name, int length, DeviceId device);
  Status (*cuDeviceGetAttribute)(int* value, int attribute, DeviceId device);
  Status (*cuDeviceTotalMem)(std::size_t* bytes, DeviceId device);
  Status (*cuDevicePrimaryCtxRetain)(Context* context, DeviceId device);
  Status (*cuCtxSetCurrent)(Context context);
  Status (*cuMemGetInfo)(std::size_t* free, std::size_t* total);
  Status (*cuMemAlloc)(Pointer* at, std::size_t bytes);
  Status (*cuMemFree)(Pointer at);
  Status (*cuMemHostAlloc)(void** at, std::size_t bytes, unsigned flags);
  Status (*cuMemcpyHtoDAsync)(Pointer to, const void* from, std::size_t bytes, Stream stream);
  Status (*cuMemcpyDtoHAsync)(void* to, Pointer from, std::size_t bytes, Stream stream);
  Status (*cuModuleLoadData)(Module* module, const void* image);
  Status (*cuModuleUnload)(Module module);
  Status (*cuModuleGetFunction)(Function* function, Module module, const char* name);
  Status (*cuFuncSetAttribute)(Function function, int attribute, int value);
  Status (*cuOccupancyMaxActiveBlocksPerMultiprocessor)(int* blocks, Function function, int threads,
                                                        std::size_t shared_bytes);
  Status (*cuLaunchKernel)(Function function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                           unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,
                           Stream stream, void** arguments, void** extra);
  Status (*cuStreamCreate)(Stream* stream, unsigned flags);
  Status (*cuStreamSynchronize)(Stream stream);
  Status (*cuGetErrorName)(Status status, const char** name);
  Status (*cuGetErrorString)(Status status, const char** text);
};

// The open driver: all functions, or a sentence that says how to fix the driver.
struct Opened {
  const Driver* driver = nullptr;
  int devices = 0;
  int version = 0;
  std::string why;
};

// Opens the driver once; later calls return the result of the first call.
const Opened& open_driver();
// Tells whether open_driver() has been called.
bool driver_is_open();

// Returns the driver, which must be open.
const Driver& driver();

// Fails unless the status is success: with Fault::memory if memory is short, else with a message that has `doing`.
void check(Status status, const char* doing);
std::string status_text(Status status);

int attribute(int which, DeviceId device);

// --- probe ---------------------------------------------------------------------------------------------------------
// Probes whether a GPU is there and computes, for the situation report.

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

// Makes the situation report. Starts the driver, and opens the first device to probe it.
Report report();

}  // namespace device
}  // namespace kernweave
