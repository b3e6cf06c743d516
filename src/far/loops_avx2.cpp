// The loops in AVX2.
#if defined(__x86_64__)
#define KW_AVX2
#include "far/loops-inl.hpp"

const kernweave::far::ExpansionLoops kernweave::far::loops_avx2 = kernweave::avx2::far_loops::kLoops;
#endif
