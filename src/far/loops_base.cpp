// The loops for the instruction set of every machine of this build, and the choice of an instruction set, which is the
// same as for tiles of pairs.
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
