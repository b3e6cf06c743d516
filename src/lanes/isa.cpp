// Asks the processor for its instruction sets once; tests may choose another set.
#include "lanes/isa.hpp"

#include "base/error.hpp"

namespace kernweave {
namespace {

std::vector<std::string> find_here() {
  std::vector<std::string> best_first;
#if defined(__x86_64__) && !defined(_WIN32)  // there, compilers do not align wide vectors on the stack
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx512 && avx2) best_first.push_back("avx512");
  if (avx2) best_first.push_back("avx2");
#endif
  best_first.push_back("base");
  return best_first;
}

const std::string*& chosen() {
  static const std::string* set = &instruction_sets().front();
  return set;
}

}  // namespace

const std::vector<std::string>& instruction_sets() {
  static const std::vector<std::string> found = find_here();
  return found;
}

const std::string& instruction_set() { return *chosen(); }

void use_instruction_set(const std::string& name) {
  std::string known;
  for (const std::string& set : instruction_sets()) {
    if (name.empty() || name == set) {
      chosen() = &set;
      return;
    }
    known += sentence(known.empty() ? "" : ", ", "\"", set, "\"");
  }
  fail(Fault::unsupported, "instruction set \"", name, "\" is not available here; there are ", known);
}

}  // namespace kernweave
