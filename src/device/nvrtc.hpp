// The run-time compiler NVRTC, opened when first asked for; kernels kept on disk; kernels compiled at installation.
#pragma once
#include <cstdint>
#include <string>

namespace kernweave {
namespace device {

// Sets the folder of the installed headers, which kernels include. Called when the package is loaded.
void set_header_folder(const std::string& folder);

struct Compiler {
  bool found = false;
  std::string file;  // the library taken
  int major = 0, minor = 0;
  std::string why;  // not found: what is missing and how to get it
};

const Compiler& compiler();

// Image for a device of this capability (90 for 9.0): its machine code, or, where the compiler is older than the
// device, code that the driver translates.
std::string compile(const std::string& source, int capability);
// Begins to compile what will be asked for soon, on a thread of its own: kernels side by side take little longer than
// one. compile() then waits for it.
void compile_ahead(const std::string& source, int capability);
// Waits for all that was begun: a compiler must not be at work when its library or the process ends.
void finish_compiling();

// --- images --------------------------------------------------------------------------------------------------------
// Kernels compiled at installation. configure makes the bytes kernweave_ahead_<name> of each src/*/ahead_<name>.cu,
// with code for several architectures; where no nvcc was found, cuda/ahead_none.cpp has zeros in their place.

// Returns the bytes if they are kernels, else null.
const unsigned char* image_in(const unsigned char* bytes);

// The image of ahead_probe.cu; null tells that nothing was compiled at installation.
const unsigned char* probe_image();

// --- kernel_cache.cpp ----------------------------------------------------------------------------------------------
// Compiled kernels on disk, unless the user wants none: any process may find what another has compiled. Threads that
// compile side by side store side by side.

// Sets the folder, where "" means no cache, and the bytes that it may take.
void set_cache(const std::string& folder, double most_bytes);
bool has_cache();

// The image stored for this text; "" if there is none, or the file is damaged.
std::string recall(const std::string& text);
// Stores an image. It is written beside its place and moved there, so that nobody ever reads half of it; where that
// fails, nothing is stored.
void store(const std::string& text, const std::string& image);

// A sentence for the user after the folder was made; "" all other times.
std::string news_of_cache();

// Hash (FNV-1a) of a text, continued from h.
std::uint64_t hash_of(const std::string& text, std::uint64_t h);

struct CacheReport {
  std::string folder;  // empty: there is none
  int files = 0;
  double bytes = 0;
  bool writable = false;
};
CacheReport cache_report();

}  // namespace device
}  // namespace kernweave
