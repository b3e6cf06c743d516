// The loops in AVX-512.
#include "far/loops.hpp"
#include "lanes/isa.hpp"

#if defined(__x86_64__)
#define KW_ISA avx512
KW_TARGET_BEGIN("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")
namespace kernweave {
inline namespace KW_ISA {
constexpr int kVectorBytes = 64;
}  // inline namespace KW_ISA
}  // namespace kernweave
#include "far/loops-inl.hpp"
KW_TARGET_END

const kernweave::far::ExpansionLoops kernweave::far::loops_avx512 = kernweave::avx512::far_loops::kLoops;
#endif
