// The run-time compiler: searched for once; sources can include our headers only.
#include "device/nvrtc.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <map>
#include <vector>

#include "base/error.hpp"
#include "base/system.hpp"
#include "base/threads.hpp"

namespace kernweave {
namespace device {
namespace {

using Status = int;
using CompiledText = struct ProgramTag*;

struct Functions {
  Status (*version)(int* major, int* minor);
  Status (*count_archs)(int* count);
  Status (*archs)(int* capabilities);
  Status (*create)(CompiledText* program, const char* source, const char* name, int headers, const char* const* texts,
                   const char* const* names);
  Status (*compile)(CompiledText program, int options, const char* const* texts);
  Status (*log_size)(CompiledText program, std::size_t* bytes);
  Status (*log)(CompiledText program, char* text);
  Status (*cubin_size)(CompiledText program, std::size_t* bytes);
  Status (*cubin)(CompiledText program, char* code);
  Status (*ptx_size)(CompiledText program, std::size_t* bytes);
  Status (*ptx)(CompiledText program, char* code);
  Status (*destroy)(CompiledText* program);
};

Functions functions;
std::string header_folder;

bool fill(const Library& l, Functions* f) {
  return l.take("nvrtcVersion", &f->version) && l.take("nvrtcGetNumSupportedArchs", &f->count_archs) &&
         l.take("nvrtcGetSupportedArchs", &f->archs) && l.take("nvrtcCreateProgram", &f->create) &&
         l.take("nvrtcCompileProgram", &f->compile) && l.take("nvrtcGetProgramLogSize", &f->log_size) &&
         l.take("nvrtcGetProgramLog", &f->log) && l.take("nvrtcGetCUBINSize", &f->cubin_size) &&
         l.take("nvrtcGetCUBIN", &f->cubin) && l.take("nvrtcGetPTXSize", &f->ptx_size) &&
         l.take("nvrtcGetPTX", &f->ptx) && l.take("nvrtcDestroyProgram", &f->destroy);
}

// Lists the files to try: the user's choice, else the toolkit of the environment, the loader's path, the usual place.
std::vector<std::string> candidates() {
#ifdef _WIN32
  const std::vector<std::string> plain = {"nvrtc64_130_0.dll", "nvrtc64_120_0.dll"};
  const char* const folder = "/bin/";
#else
  const std::vector<std::string> plain = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  const char* const folder = "/lib64/";
#endif
  // If a compiler is named, no other compiler is tried.
  const char* const named = std::getenv("KERNWEAVE_NVRTC");
  if (named && *named) return {named};
  std::vector<std::string> names;
  const auto in_toolkit = [&](const std::string& home) {
    for (const std::string& name : plain) names.push_back(home + folder + name);
  };
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* home = std::getenv(variable)) in_toolkit(home);
  names.insert(names.end(), plain.begin(), plain.end());
  in_toolkit("/usr/local/cuda");
  return names;
}

Compiler opened_compiler() {
  Compiler found;
  const Library library(candidates());
  if (!library) {
    found.why = sentence("the run-time compiler NVRTC was not found (", library.why(),
                         "). Install the CUDA Toolkit, or set KERNWEAVE_NVRTC to the file libnvrtc.so");
    return found;
  }
  found.file = library.name();
  if (!fill(library, &functions) || functions.version(&found.major, &found.minor) != 0) {
    found.why = sentence(found.file, " is too old: install NVRTC 12 or later");
    return found;
  }
  found.found = true;
  return found;
}

void check(Status status, const char* doing) {
  internal_check(status == 0, "NVRTC failed at ", doing, ": error ", status);
}

// A program of the compiler, which is destroyed in any case.
class Translation {
 public:
  explicit Translation(const std::string& source) {
    check(functions.create(&program_, source.c_str(), "formula.cu", 0, nullptr, nullptr), "taking a source");
  }
  Translation(const Translation&) = delete;
  Translation& operator=(const Translation&) = delete;
  ~Translation() { functions.destroy(&program_); }

  void run(const std::vector<std::string>& options) {
    std::vector<const char*> texts;
    for (const std::string& option : options) texts.push_back(option.c_str());
    Status status = 0;
    on_deep_stack([&] { status = functions.compile(program_, static_cast<int>(texts.size()), texts.data()); });
    internal_check(status == 0, "NVRTC could not compile a formula: ", text(functions.log_size, functions.log));
  }

  std::string cubin() { return text(functions.cubin_size, functions.cubin); }
  std::string ptx() { return text(functions.ptx_size, functions.ptx); }

 private:
  std::string text(Status (*size_of)(CompiledText, std::size_t*), Status (*get)(CompiledText, char*)) {
    std::size_t size = 0;
    check(size_of(program_, &size), "asking for a size");
    std::string out(size, '\0');
    check(get(program_, &out[0]), "fetching a text");
    return out;
  }

  CompiledText program_ = nullptr;
};

// Returns the newest architecture that the compiler knows and the device can run.
int nearest_capability(int capability) {
  int count = 0;
  check(functions.count_archs(&count), "counting architectures");
  std::vector<int> known(static_cast<std::size_t>(count));
  check(functions.archs(known.data()), "listing architectures");
  int nearest = 0;
  for (int arch : known)
    if (arch <= capability) nearest = std::max(nearest, arch);
  user_check(nearest > 0, Fault::no_device, "the GPU, of compute capability ", capability / 10, ".", capability % 10,
             ", is too old for ", compiler().file);
  return nearest;
}

// Returns a hash of all headers that a source may include: other headers make other kernels. Read once.
std::uint64_t headers_hash() {
  static const std::uint64_t found = [] {
    std::vector<std::string> files;
    std::error_code failed;
    for (std::filesystem::recursive_directory_iterator at(header_folder, failed), end; !failed && at != end;
         at.increment(failed))
      if (at->is_regular_file()) files.push_back(at->path().string());
    std::sort(files.begin(), files.end());
    std::uint64_t h = 0;
    for (const std::string& file : files) {
      std::ifstream in(file, std::ios::binary);
      h = hash_of(std::string(std::istreambuf_iterator<char>(in), {}), h);
    }
    return h;
  }();
  return found;
}

// Reads the image from the disk, or compiles it.
std::string image_of(const std::string& source, int capability) {
  user_check(compiler().found, Fault::no_device, compiler().why);
  const int nearest = nearest_capability(capability);
  const bool exact = nearest == capability;
  const std::string target = sentence("-arch=", exact ? "sm_" : "compute_", nearest);
  const auto translated = [&] {
    Translation translation(source);
    translation.run({"-std=c++17", "-default-device", target, "-I" + header_folder});
    return exact ? translation.cubin() : translation.ptx();
  };
  if (!has_cache()) return translated();
  const std::string all_that_matters =
      sentence(target, ", NVRTC ", compiler().major, ".", compiler().minor, ", headers ", headers_hash(), "\n", source);
  std::string image = recall(all_that_matters);
  if (!image.empty()) return image;
  image = translated();
  store(all_that_matters, image);
  return image;
}

// The compilations that were begun and not yet asked for. Only the calling thread uses them. A child process begins
// with an empty list: it has none of its parent's threads, so nothing may wait for them.
using Begun = std::map<std::pair<int, std::string>, std::future<std::string>>;
Begun& begun() {
  static Begun* all = nullptr;
  static long owner = 0;
  if (owner != this_process()) {
    all = new Begun;
    owner = this_process();
  }
  return *all;
}

bool is_done(const std::future<std::string>& image) {
  return image.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

void set_header_folder(const std::string& folder) { header_folder = folder; }

const Compiler& compiler() {
  static const Compiler found = opened_compiler();
  return found;
}

std::string compile(const std::string& source, int capability) {
  const auto at = begun().find({capability, source});
  if (at == begun().end()) return image_of(source, capability);
  std::future<std::string> image = std::move(at->second);
  begun().erase(at);
  return image.get();
}

void compile_ahead(const std::string& source, int capability) {
  if (!compiler().found || begun().count({capability, source})) return;
  const auto busy = std::count_if(begun().begin(), begun().end(), [](const auto& b) { return !is_done(b.second); });
  if (busy >= allowed_threads(0)) return;
  const auto work = std::make_shared<std::packaged_task<std::string()>>(
      [source, capability] { return image_of(source, capability); });
  begun().emplace(std::make_pair(capability, source), work->get_future());
  try {
    crew::start([work] { (*work)(); });
  } catch (const std::exception&) {  // no thread is available: compile() compiles later
    begun().erase({capability, source});
  }
}

void finish_compiling() {
  for (auto& one : begun()) one.second.wait();
}

}  // namespace device
}  // namespace kernweave
