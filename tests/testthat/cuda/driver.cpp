// A driver and a run-time compiler of no GPU: memory is the host's, and kernels are compiled by R's compiler, for the
// host to carry out (on_host.hpp). The environment says how, ON_HOST, and where, ON_HOST_FOLDER.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <regex>
#include <sstream>
#include <string>

namespace {

using Pointer = unsigned long long;
// Blocks along three axes, threads of each, and where the arguments lie.
using Kernel = void (*)(unsigned, unsigned, unsigned, unsigned, const void*);

struct Program {
  std::string source, library, log;
};

// Adds a function for each kernel that launches the kernel, and the memory that blocks share.
std::string with_launches(const std::string& source) {
  static const std::regex kernel("__global__ void (?:__launch_bounds__\\([^)]*\\) )?(\\w+)\\((.*?) ?\\w+\\)");
  std::ostringstream out;
  // For shared memory there is one name, whatever kernels take it for.
  out << source << "\nalignas(16) char shared_memory[1 << 18] asm(\"_ZN9kernweave8portable3gpu6sharedE\");\n";
  for (std::sregex_iterator at(source.begin(), source.end(), kernel), end; at != end; ++at)
    out << "extern \"C\" void launch_" << (*at)[1]
        << "(unsigned x, unsigned y, unsigned z, unsigned threads, const void* at) {\n"
        << "  using Argument = " << (*at)[2] << ";\n"
        << "  launch({x, y, z}, threads, [&] { ::" << (*at)[1] << "(*static_cast<const Argument*>(at)); });\n}\n";
  return out.str();
}

// Tells whether the thread has lost its device: the environment may name the launch from which on every launch, copy
// and wait of that thread fails, ON_HOST_LOST.
bool is_lost(bool launches) {
  thread_local long launched = 0;
  const char* const from = std::getenv("ON_HOST_LOST");
  if (!from) launched = 0;
  else if (launches) ++launched;
  return from && launched >= std::atol(from);
}
constexpr int kContextIsDestroyed = 709;

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
int cuDeviceGetCount(int* count) { return *count = 1, 0; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, 0; }
int cuDeviceGetName(char* name, int length, int) { return std::strncpy(name, "none", length), 0; }
int cuDeviceGetAttribute(int* value, int which, int) {
  const char* const processors = std::getenv("ON_HOST_PROCESSORS");
  return *value = which == 75 ? 9 : which == 76 ? 0 : processors ? std::atoi(processors) : 4, 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = std::size_t{1} << 33, 0; }
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = context, 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) { return *free = *total = std::size_t{1} << 33, 0; }
// Fills new memory with NaN, which stays where nobody writes.
int cuMemAlloc_v2(Pointer* at, std::size_t bytes) {
  void* const memory = std::malloc(bytes);
  std::memset(memory, 0xff, bytes);
  return *at = reinterpret_cast<Pointer>(memory), 0;
}
int cuMemFree_v2(Pointer at) { return std::free(reinterpret_cast<void*>(at)), 0; }
int cuMemHostAlloc(void** at, std::size_t bytes, unsigned) { return *at = std::malloc(bytes), 0; }
int cuMemcpyHtoDAsync_v2(Pointer to, const void* from, std::size_t bytes, void*) {
  return is_lost(false) ? kContextIsDestroyed : (std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0);
}
int cuMemcpyDtoHAsync_v2(void* to, Pointer from, std::size_t bytes, void*) {
  return is_lost(false) ? kContextIsDestroyed : (std::memcpy(to, reinterpret_cast<void*>(from), bytes), 0);
}
int cuModuleLoadData(void** module, const void* image) {
  return (*module = dlopen(static_cast<const char*>(image), RTLD_NOW | RTLD_LOCAL)) ? 0 : 200;
}
int cuModuleUnload(void* module) { return dlclose(module); }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  return (*function = dlsym(module, (std::string("launch_") + name).c_str())) ? 0 : 500;
}
int cuFuncSetAttribute(void*, int, int) { return 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, std::size_t) { return *blocks = 1, 0; }
int cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned, unsigned, unsigned,
                   void*, void** arguments, void**) {
  if (is_lost(true)) return kContextIsDestroyed;
  static std::mutex one_at_a_time;  // kernels share what stands for a block's memory
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  return reinterpret_cast<Kernel>(function)(x, y, z, threads, arguments[0]), 0;
}
int cuStreamCreate(void** stream, unsigned) { return *stream = stream, 0; }
int cuStreamSynchronize(void*) { return is_lost(false) ? kContextIsDestroyed : 0; }
int cuGetErrorName(int, const char** name) { return *name = "an error", 0; }
int cuGetErrorString(int, const char** text) { return *text = "of no GPU", 0; }

int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, 0; }
int nvrtcGetNumSupportedArchs(int* count) { return *count = 1, 0; }
int nvrtcGetSupportedArchs(int* capabilities) { return *capabilities = 90, 0; }
int nvrtcCreateProgram(Program** program, const char* source, const char*, int, const char* const*,
                       const char* const*) {
  return *program = new Program{source, "", ""}, 0;
}
int nvrtcCompileProgram(Program* program, int, const char* const*) {
  std::string file = std::string(std::getenv("ON_HOST_FOLDER")) + "/kernels_XXXXXX";
  close(mkstemp(&file[0]));
  const std::string from = file + ".cpp", log = file + ".log";
  program->library = file + ".so";
  std::ofstream(from) << with_launches(program->source);
  const std::string command = std::string(std::getenv("ON_HOST")) + " " + from + " -o " + program->library;
  const int status = std::system((command + " 2> " + log).c_str());
  program->log = text_of(log);
  return status;
}
int nvrtcGetProgramLogSize(Program* program, std::size_t* bytes) { return *bytes = program->log.size() + 1, 0; }
int nvrtcGetProgramLog(Program* program, char* text) { return std::strcpy(text, program->log.c_str()), 0; }
int nvrtcGetCUBINSize(Program* program, std::size_t* bytes) { return *bytes = program->library.size() + 1, 0; }
int nvrtcGetCUBIN(Program* program, char* code) { return std::strcpy(code, program->library.c_str()), 0; }
int nvrtcGetPTXSize(Program* program, std::size_t* bytes) { return nvrtcGetCUBINSize(program, bytes); }
int nvrtcGetPTX(Program* program, char* code) { return nvrtcGetCUBIN(program, code); }
int nvrtcDestroyProgram(Program** program) { return delete *program, 0; }
}
