// Asks the processor once; may be told otherwise, for tests.
#include "cpu/isa.hpp"

#include "base/error.hpp"

namespace kernweave {
namespace {

struct Found {
  std::vector<InstructionSet> best_first;
  std::vector<InstructionSet> for_tests;  // the same with one way or the other to quotients
};

#if defined(__x86_64__) && !defined(_WIN32)  // there, compilers do not align wide vectors on the stack
TileKernel sparing(TileKernel kernel) {
  kernel.run = kernel.run_sparing;
  return kernel;
}

void add(const std::string& name, const TileKernel& float32, const TileKernel& float64, Found* found) {
  // Four quotients in float64 take Intel's dividers eight cycles, AMD's about five, which something else can fill:
  // there to spare the divider costs a sixth (bench/notes/14-cpu-13.md).
  const bool slow_divider = __builtin_cpu_is("intel");
  found->best_first.push_back({name, float32, slow_divider ? sparing(float64) : float64});
  found->for_tests.push_back({name + " dividing", float32, float64});
  found->for_tests.push_back({name + " sparing", float32, sparing(float64)});
}
#endif

Found find_here() {
  Found found;
#if defined(__x86_64__) && !defined(_WIN32)
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx512 && avx2) add("avx512", tile_avx512_float, tile_avx512_double, &found);
  if (avx2) add("avx2", tile_avx2_float, tile_avx2_double, &found);
#endif
  found.best_first.push_back({"base", tile_base_float, tile_base_double});
  return found;
}

const Found& found_here() {
  static const Found found = find_here();
  return found;
}

const InstructionSet*& chosen() {
  static const InstructionSet* set = &instruction_sets().front();
  return set;
}

}  // namespace

const std::vector<InstructionSet>& instruction_sets() { return found_here().best_first; }

const InstructionSet& instruction_set() { return *chosen(); }

void use_instruction_set(const std::string& name) {
  std::string known;
  for (const std::vector<InstructionSet>* sets : {&found_here().best_first, &found_here().for_tests})
    for (const InstructionSet& set : *sets) {
      if (name.empty() || name == set.name) {
        chosen() = &set;
        return;
      }
      if (sets == &found_here().best_first) known += sentence(known.empty() ? "" : ", ", "\"", set.name, "\"");
    }
  fail(Fault::unsupported, "instruction set \"", name, "\" is not available here; there are ", known);
}

}  // namespace kernweave
