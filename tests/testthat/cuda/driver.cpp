// A driver and a run-time compiler of no GPU: memory is the host's, kernels are those whose threads' work is a
// function of their number, and threads come one after the other, the last first, so that none may wait for another.
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "kernweave/gpu/cloud.hpp"
#include "kernweave/gpu/factor.hpp"

namespace {

using kernweave::gpu::CloudTask;
using kernweave::gpu::ColumnTask;
using Pointer = unsigned long long;
using Kernel = std::function<void(const void*, long long)>;

// All that have work, of so many threads.
template <class Task>
Kernel each(void (*kernel)(const Task&, long long)) {
  return [kernel](const void* at, long long threads) {
    const Task& task = *static_cast<const Task*>(at);
    while (threads-- > 0)
      if (threads < task.count) kernel(task, threads);
  };
}

void probe(double* out, unsigned threads) {
  for (unsigned k = 0; k < threads; ++k) out[k] = 3.0 * k + 1.0;
}

const std::map<std::string, Kernel>& kernels() {
  namespace gpu = kernweave::gpu;
  static const std::map<std::string, Kernel> all = {
      {"probe", nullptr},
      {"weighed_sum", each<ColumnTask>(gpu::weighed_sum)},
      {"scaled_rows", each<ColumnTask>(gpu::scaled_rows)},
      {"moved", each<ColumnTask>(gpu::moved)},
      {"partial_dots", each<ColumnTask>(gpu::partial_dots)},
      {"partial_sums", each<ColumnTask>(gpu::partial_sums)},
      {"partial_forms", each<ColumnTask>(gpu::partial_forms)},
      {"factor_by_columns", each<ColumnTask>(gpu::factor_by_columns)},
      {"factor_by_rows", each<ColumnTask>(gpu::factor_by_rows)},
      {"listed_pairs", each<ColumnTask>(gpu::listed_pairs)},
      {"forward_rows", each<ColumnTask>(gpu::forward_rows)},
      {"entries_left", each<ColumnTask>(gpu::entries_left)},
      {"last_columns", each<ColumnTask>(gpu::last_columns)},
      {"some_rows", each<CloudTask>(gpu::some_rows)},
      {"partial_reach", each<CloudTask>(gpu::partial_reach)},
  };
  return all;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
int cuDeviceGetCount(int* count) { return *count = 1, 0; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, 0; }
int cuDeviceGetName(char* name, int length, int) { return std::strncpy(name, "none", length), 0; }
int cuDeviceGetAttribute(int* value, int which, int) { return *value = which == 75 ? 9 : which == 76 ? 0 : 4, 0; }
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = std::size_t{1} << 33, 0; }
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = context, 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) { return *free = *total = std::size_t{1} << 33, 0; }
// What nobody has written is no number.
int cuMemAlloc_v2(Pointer* at, std::size_t bytes) {
  void* const memory = std::malloc(bytes);
  std::memset(memory, 0xff, bytes);
  return *at = reinterpret_cast<Pointer>(memory), 0;
}
int cuMemFree_v2(Pointer at) { return std::free(reinterpret_cast<void*>(at)), 0; }
int cuMemHostAlloc(void** at, std::size_t bytes, unsigned) { return *at = std::malloc(bytes), 0; }
int cuMemcpyHtoDAsync_v2(Pointer to, const void* from, std::size_t bytes, void*) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0;
}
int cuMemcpyDtoHAsync_v2(void* to, Pointer from, std::size_t bytes, void*) {
  return std::memcpy(to, reinterpret_cast<void*>(from), bytes), 0;
}
int cuModuleLoadData(void** module, const void*) { return *module = module, 0; }
int cuModuleUnload(void*) { return 0; }
int cuModuleGetFunction(const void** function, void*, const char* name) {
  const auto found = kernels().find(name);
  if (found == kernels().end()) return 500;
  return *function = &*found, 0;
}
int cuFuncSetAttribute(void*, int, int) { return 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, std::size_t) { return *blocks = 1, 0; }
int cuLaunchKernel(const void* function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                   unsigned, void*, void** arguments, void**) {
  const auto& kernel = *static_cast<const std::pair<const std::string, Kernel>*>(function);
  if (!kernel.second) return probe(*static_cast<double**>(arguments[0]), threads), 0;
  return kernel.second(arguments[0], static_cast<long long>(blocks) * threads), 0;
}
int cuStreamCreate(void** stream, unsigned) { return *stream = stream, 0; }
int cuStreamSynchronize(void*) { return 0; }
int cuGetErrorName(int, const char** name) { return *name = "an error", 0; }
int cuGetErrorString(int, const char** text) { return *text = "of no GPU", 0; }

int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, 0; }
int nvrtcGetNumSupportedArchs(int* count) { return *count = 1, 0; }
int nvrtcGetSupportedArchs(int* capabilities) { return *capabilities = 90, 0; }
int nvrtcCreateProgram(void** program, const char*, const char*, int, const char* const*, const char* const*) {
  return *program = program, 0;
}
int nvrtcCompileProgram(void*, int, const char* const*) { return 0; }
int nvrtcGetProgramLogSize(void*, std::size_t* bytes) { return *bytes = 1, 0; }
int nvrtcGetProgramLog(void*, char* text) { return *text = 0, 0; }
int nvrtcGetCUBINSize(void*, std::size_t* bytes) { return *bytes = 1, 0; }
int nvrtcGetCUBIN(void*, char* code) { return *code = 0, 0; }
int nvrtcGetPTXSize(void*, std::size_t* bytes) { return *bytes = 1, 0; }
int nvrtcGetPTX(void*, char* code) { return *code = 0, 0; }
int nvrtcDestroyProgram(void**) { return 0; }
}
