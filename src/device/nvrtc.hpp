// The run-time compiler: our own declarations of NVRTC, opened when first asked for.
#pragma once
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

}  // namespace device
}  // namespace kernweave
