// Asks the processor once; may be told otherwise, for tests.
#include "cpu/isa.hpp"

#include "base/error.hpp"

namespace kernweave {
namespace {

std::vector<InstructionSet> find_here() {
  std::vector<InstructionSet> best_first;
#if defined(__x86_64__) && !defined(_WIN32)  // there, compilers do not align wide vectors on the stack
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx512 && avx2) best_first.push_back({"avx512", tile_avx512_float, tile_avx512_double});
  if (avx2) best_first.push_back({"avx2", tile_avx2_float, tile_avx2_double});
#endif
  best_first.push_back({"base", tile_base_float, tile_base_double});
  return best_first;
}

const InstructionSet*& chosen() {
  static const InstructionSet* set = &instruction_sets().front();
  return set;
}

}  // namespace

const std::vector<InstructionSet>& instruction_sets() {
  static const std::vector<InstructionSet> found = find_here();
  return found;
}

const InstructionSet& instruction_set() { return *chosen(); }

void use_instruction_set(const std::string& name) {
  std::string known;
  for (const InstructionSet& set : instruction_sets()) {
    if (name.empty() || name == set.name) {
      chosen() = &set;
      return;
    }
    known += sentence(known.empty() ? "" : ", ", "\"", set.name, "\"");
  }
  fail(Fault::unsupported, "instruction set \"", name, "\" is not available here; there are ", known);
}

}  // namespace kernweave
