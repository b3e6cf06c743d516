// Opens the driver, and asks it for devices and their properties.
#include "device/driver.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/error.hpp"
#include "base/system.hpp"
#include "device/device.hpp"
#include "device/nvrtc.hpp"

namespace kernweave {
namespace device {

namespace {

#ifdef _WIN32
const char* const kDriverLibrary = "nvcuda.dll";
#else
const char* const kDriverLibrary = "libcuda.so.1";
#endif

// Looks up all functions; a function with versions in the version that we declare.
bool fill(const Library& l, Driver* d) {
  return l.take("cuInit", &d->cuInit) && l.take("cuDriverGetVersion", &d->cuDriverGetVersion) &&
         l.take("cuDeviceGetCount", &d->cuDeviceGetCount) && l.take("cuDeviceGet", &d->cuDeviceGet) &&
         l.take("cuDeviceGetName", &d->cuDeviceGetName) && l.take("cuDeviceGetAttribute", &d->cuDeviceGetAttribute) &&
         l.take("cuDeviceTotalMem_v2", &d->cuDeviceTotalMem) &&
         l.take("cuDevicePrimaryCtxRetain", &d->cuDevicePrimaryCtxRetain) &&
         l.take("cuCtxSetCurrent", &d->cuCtxSetCurrent) && l.take("cuMemGetInfo_v2", &d->cuMemGetInfo) &&
         l.take("cuMemAlloc_v2", &d->cuMemAlloc) && l.take("cuMemFree_v2", &d->cuMemFree) &&
         l.take("cuMemHostAlloc", &d->cuMemHostAlloc) && l.take("cuMemcpyHtoDAsync_v2", &d->cuMemcpyHtoDAsync) &&
         l.take("cuMemcpyDtoHAsync_v2", &d->cuMemcpyDtoHAsync) && l.take("cuModuleLoadData", &d->cuModuleLoadData) &&
         l.take("cuModuleUnload", &d->cuModuleUnload) && l.take("cuModuleGetFunction", &d->cuModuleGetFunction) &&
         l.take("cuFuncSetAttribute", &d->cuFuncSetAttribute) &&
         l.take("cuOccupancyMaxActiveBlocksPerMultiprocessor", &d->cuOccupancyMaxActiveBlocksPerMultiprocessor) &&
         l.take("cuLaunchKernel", &d->cuLaunchKernel) && l.take("cuStreamCreate", &d->cuStreamCreate) &&
         l.take("cuStreamSynchronize", &d->cuStreamSynchronize) && l.take("cuGetErrorName", &d->cuGetErrorName) &&
         l.take("cuGetErrorString", &d->cuGetErrorString);
}

// Advice for a driver that does not start.
std::string remedy(Status status) {
  switch (status) {
    case 100: return "no NVIDIA GPU is visible: is one there, and does CUDA_VISIBLE_DEVICES name it?";
    case 803: return "the driver's library and its kernel module are of different versions: restart the machine";
    case 804: return "a compatibility library hides the driver's own: take cuda-compat off LD_LIBRARY_PATH";
    case 999: return "the driver does not start; nvidia-smi may say more";
    default: return "nvidia-smi may say more";
  }
}

Opened opened_driver() {
  static Driver functions;
  Opened opened;
  const Library library({kDriverLibrary});
  if (!library) {
    opened.why = sentence("there is no NVIDIA driver: ", library.why(), ". Install the driver of your GPU");
    return opened;
  }
  if (!fill(library, &functions)) {
    opened.why = "the NVIDIA driver is too old: install one of CUDA 12 or later";
    return opened;
  }
  Status status = functions.cuInit(0);
  if (status == 0) status = functions.cuDriverGetVersion(&opened.version);
  if (status == 0) status = functions.cuDeviceGetCount(&opened.devices);
  if (status == 0 && opened.devices == 0) status = 100;
  if (status != 0) {
    opened.devices = 0;
    opened.why = sentence("the NVIDIA driver answers with error ", status, ": ", remedy(status));
    return opened;
  }
  opened.driver = &functions;
  return opened;
}

bool was_opened = false;

}  // namespace

const Opened& open_driver() {
  static const Opened opened = opened_driver();
  was_opened = true;
  return opened;
}

bool driver_is_open() { return was_opened; }

const Driver& driver() {
  const Opened& opened = open_driver();
  user_check(opened.driver != nullptr, Fault::no_device, opened.why);
  return *opened.driver;
}

std::string status_text(Status status) {
  const char *name = nullptr, *text = nullptr;
  const Driver& d = driver();
  if (d.cuGetErrorName(status, &name) != 0 || d.cuGetErrorString(status, &text) != 0) return sentence("error ", status);
  return sentence(name, " (", text, ")");
}

int attribute(int which, DeviceId device) {
  int value = 0;
  check(driver().cuDeviceGetAttribute(&value, which, device), "asking what a device is");
  return value;
}

// Errors after which every call fails until the process ends: the device is gone or was reset (no context,
// uncorrectable memory, a time limit of the display), or a kernel had a bug.
bool is_gone(Status status) {
  constexpr Status kGone[] = {4, 46, 201, 214, 220, 702, 709, 999};
  return std::find(std::begin(kGone), std::end(kGone), status) != std::end(kGone);
}
bool is_broken(Status status) { return status == 700 || status == 710 || (status >= 714 && status <= 719); }

void check(Status status, const char* doing) {
  if (status == 0) return;
  if (status == kOutOfMemory) fail(Fault::memory, "the GPU has not enough memory for ", doing);
  if (is_gone(status) || is_broken(status)) lose_gpu();
  user_check(!is_gone(status), Fault::no_device, "the GPU was lost at ", doing, ": ", status_text(status),
             ". This session computes on the CPU from now on; a new session may find the GPU again");
  internal_check(false, "the GPU failed at ", doing, ": ", status_text(status));
}

// --- probe ---------------------------------------------------------------------------------------------------------
// The probe asks the driver, the compiler and a first kernel in turn.

namespace {

// A kernel whose numbers only running code can know. ahead_probe.cu has the same kernel.
const char* const kProbe =
    "extern \"C\" __global__ void probe(double* out) { out[threadIdx.x] = 3.0 * threadIdx.x + 1.0; }";
constexpr unsigned kProbeThreads = 32;

bool computes(Device* gpu) {
  const Block memory = gpu->allocate(kProbeThreads * sizeof(double), "a probe");
  const Kernels kernels(compiler().found ? static_cast<const void*>(compile(kProbe, gpu->capability()).data())
                                         : probe_image());
  const Pointer at = memory.at();
  gpu->launch(kernels.find("probe"), 1, 1, 1, kProbeThreads, 0, arguments_of(at));
  double out[kProbeThreads] = {};
  gpu->download(out, at, sizeof out);
  for (unsigned k = 0; k < kProbeThreads; ++k)
    if (out[k] != 3.0 * k + 1.0) return false;
  return true;
}

Verdict probe_now(int number) {
  if (!open_driver().driver) return Verdict::no(open_driver().why);
  if (number >= count())
    return Verdict::no(sentence("there is no GPU ", number, "; they are numbered from 0 to ", count() - 1));
  if (!compiler().found && !probe_image())
    return Verdict::no(sentence(
        compiler().why, "; no kernels were compiled at installation, for which the CUDA Toolkit must be there then"));
  try {
    if (computes(&open(number))) return {};
    return Verdict::no(sentence("GPU ", number, " gives wrong numbers for a small kernel"));
  } catch (const Failure& failure) {
    return Verdict::no(failure.message);
  }
}

std::string device_line(int number) {
  const Driver& d = driver();
  DeviceId id = 0;
  char name[256] = "";
  std::size_t memory = 0;
  check(d.cuDeviceGet(&id, number), "asking for a device");
  check(d.cuDeviceGetName(name, sizeof name, id), "asking a device's name");
  check(d.cuDeviceTotalMem(&memory, id), "asking a device's memory");
  return sentence(number, ": ", name, ", capability ", attribute(kMajor, id), ".", attribute(kMinor, id), ", ",
                  memory >> 30, " GB, ", attribute(kProcessors, id), " multiprocessors");
}

}  // namespace

Verdict probe(int number) {
  static std::map<int, Verdict> found;
  if (opened_by_parent())
    return Verdict::no(
        "a forked process cannot use the GPU that its parent has used; start workers anew, as future's multisession "
        "does");
  if (gpu_is_lost()) return Verdict::no("the GPU was lost; a new session may find it again");
  const auto at = found.find(number);
  return at != found.end() ? at->second : found.emplace(number, probe_now(number)).first->second;
}

bool gpu_is_here() { return open_driver().driver != nullptr; }

Report report() {
  Report found;
  const Opened& opened = open_driver();
  found.driver = opened.driver ? sentence("CUDA ", opened.version / 1000, ".", opened.version % 1000 / 10) : opened.why;
  const Compiler& c = compiler();
  found.ahead = probe_image() != nullptr;
  found.compiler = c.found ? sentence("NVRTC ", c.major, ".", c.minor, ", ", c.file) : c.why;
  for (int number = 0; number < opened.devices; ++number) found.devices.push_back(device_line(number));
  if (opened.driver && !probe(0).yes) found.problem = probe(0).why;
  return found;
}

}  // namespace device
}  // namespace kernweave
