// Compiles a CUDA source at run time with NVRTC, opened by name, with no header but ours in reach.
//   nvrtc LIBRARY SOURCE INCLUDE_DIR ARCHITECTURE [-DNAME]     prints the size of the result
#include <dlfcn.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

template <class F>
F symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (!found) std::fprintf(stderr, "no %s\n", name);
  return reinterpret_cast<F>(found);
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) return std::fprintf(stderr, "%s\n", dlerror()), 3;
  using Program = void*;
  const auto create = symbol<int (*)(Program*, const char*, const char*, int, const char**, const char**)>(
      library, "nvrtcCreateProgram");
  const auto compile = symbol<int (*)(Program, int, const char**)>(library, "nvrtcCompileProgram");
  const auto log_size = symbol<int (*)(Program, std::size_t*)>(library, "nvrtcGetProgramLogSize");
  const auto get_log = symbol<int (*)(Program, char*)>(library, "nvrtcGetProgramLog");
  const auto cubin_size = symbol<int (*)(Program, std::size_t*)>(library, "nvrtcGetCUBINSize");

  std::stringstream text;
  text << std::ifstream(argv[2]).rdbuf();
  std::vector<std::string> options = {"-std=c++17", std::string("-I") + argv[3], std::string("-arch=") + argv[4]};
  for (int k = 5; k < argc; ++k) options.push_back(argv[k]);
  std::vector<const char*> raw;
  for (const std::string& option : options) raw.push_back(option.c_str());

  Program program = nullptr;
  if (create(&program, text.str().c_str(), "every_row.cu", 0, nullptr, nullptr) != 0) return 4;
  const int status = compile(program, static_cast<int>(raw.size()), raw.data());
  std::size_t size = 0;
  log_size(program, &size);
  std::string log(size, '\0');
  get_log(program, &log[0]);
  if (status != 0 || size > 1) std::fprintf(stderr, "%s\n", log.c_str());
  if (status != 0) return 5;
  cubin_size(program, &size);
  std::printf("%zu\n", size);
  return size > 0 ? 0 : 6;
}
