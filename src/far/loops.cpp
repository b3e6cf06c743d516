// Dispatch by instruction set, the same as for tiles of pairs.
#include "far/loops.hpp"

#include "lanes/isa.hpp"

namespace kernweave {
namespace far {

const ExpansionLoops& loops() {
#if defined(__x86_64__) && !defined(_WIN32)  // the sets of lanes/isa.cpp
  const std::string& name = instruction_set();
  if (name == "avx512") return loops_avx512;
  if (name == "avx2") return loops_avx2;
#endif
  return loops_base;
}

}  // namespace far
}  // namespace kernweave
