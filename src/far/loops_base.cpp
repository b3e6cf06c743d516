// The loops in what every machine of this build has, and the choice among instruction sets, the same as for tiles of
// pairs.
#define KW_BASE
#include "far/loops-inl.hpp"

const kernweave::far::ExpansionLoops kernweave::far::loops_base = kernweave::base::far_loops::kLoops;

const kernweave::far::ExpansionLoops& kernweave::far::loops() {
#if defined(__x86_64__) && !defined(_WIN32)  // the sets of lanes/isa.cpp
  const std::string& name = instruction_set();
  if (name == "avx512") return loops_avx512;
  if (name == "avx2") return loops_avx2;
#endif
  return loops_base;
}
