// The run-time compiler NVRTC, opened at the first use; kernels kept on disk; kernels compiled at installation.
#pragma once
#include <cstdint>
#include <string>

namespace kernweave {
namespace device {

// Sets the folder of the installed headers, which kernels include. Called when the package is loaded.
void set_header_folder(const std::string& folder);

struct Compiler {
  bool found = false;
  std::string file;  // the library that was opened
  int major = 0, minor = 0;
  std::string why;  // if not found: the missing part and the remedy
};

const Compiler& compiler();

// Returns the image for a device of this capability (90 for 9.0): its machine code, or, if the compiler is older than
// the device, code that the driver translates.
std::string compile(const std::string& source, int capability);
// Begins to compile a source that will be needed soon, on a thread of its own: several kernels in parallel take little
// longer than one. compile() then waits for this thread.
void compile_ahead(const std::string& source, int capability);
// Waits for all compilations that were begun: the compiler must not be at work when its library or the process ends.
void finish_compiling();

// --- images --------------------------------------------------------------------------------------------------------
// Kernels compiled at installation. configure makes the bytes kernweave_ahead_<name> of each src/*/ahead_<name>.cu,
// with code for several architectures; where no nvcc was found, cuda/ahead_none.cpp has zeros in their place.

// Returns the bytes if they are kernels, else null.
const unsigned char* image_in(const unsigned char* bytes);

// Returns the image of ahead_probe.cu; null if no kernels were compiled at installation.
const unsigned char* probe_image();

// --- kernel_cache.cpp ----------------------------------------------------------------------------------------------
// Compiled kernels on disk, unless the user turns the cache off: a process finds the kernels that another has compiled.
// Threads that compile in parallel may store in parallel.

// Sets the folder ("" for no cache) and the most bytes that the cache may take.
void set_cache(const std::string& folder, double most_bytes);
bool has_cache();

// Returns the image stored for this text; "" if there is none, or the file is damaged.
std::string recall(const std::string& text);
// Stores an image. The file is written under another name and then renamed, so that nobody reads half of it. If that
// fails, nothing is stored.
void store(const std::string& text, const std::string& image);

// Returns a sentence for the user after the folder was made, else "".
std::string news_of_cache();

// Returns the hash (FNV-1a) of a text, continued from h.
std::uint64_t hash_of(const std::string& text, std::uint64_t h);

struct CacheReport {
  std::string folder;  // empty if there is no cache
  int files = 0;
  double bytes = 0;
  bool writable = false;
};
CacheReport cache_report();

}  // namespace device
}  // namespace kernweave
