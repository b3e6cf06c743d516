// Opens the driver and asks it what is there.
#include "device/driver.hpp"

#include "base/error.hpp"
#include "base/library.hpp"

namespace kernweave {
namespace device {
namespace {

#ifdef _WIN32
const char* const kDriverLibrary = "nvcuda.dll";
#else
const char* const kDriverLibrary = "libcuda.so.1";
#endif

// Takes all functions; of one that has versions, the one that our declaration describes.
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

void check(Status status, const char* doing) {
  if (status == 0) return;
  if (status == kOutOfMemory) fail(Fault::memory, "the GPU has not enough memory for ", doing);
  internal_check(false, "the GPU failed at ", doing, ": ", status_text(status));
}

}  // namespace device
}  // namespace kernweave
