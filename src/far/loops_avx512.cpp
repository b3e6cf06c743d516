// The loops in AVX-512.
#if defined(__x86_64__)
#define KW_AVX512
#include "far/loops-inl.hpp"

const kernweave::far::ExpansionLoops kernweave::far::loops_avx512 = kernweave::avx512::far_loops::kLoops;
#endif
