// The driver, the compiler and a first kernel are asked in turn.
#include "device/probe.hpp"

#include <map>

#include "base/error.hpp"
#include "device/device.hpp"
#include "device/image.hpp"
#include "device/nvrtc.hpp"

namespace kernweave {
namespace device {
namespace {

// A kernel whose threads write numbers that only running code can know. ahead_probe.cu has the same.
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
