// The loops in AVX2.
#include "far/loops.hpp"
#include "lanes/isa.hpp"

#if defined(__x86_64__)
#define KW_ISA avx2
KW_TARGET_BEGIN("avx2,fma")
namespace kernweave {
inline namespace KW_ISA {
constexpr int kVectorBytes = 32;
}  // inline namespace KW_ISA
}  // namespace kernweave
#include "far/loops-inl.hpp"
KW_TARGET_END

const kernweave::far::ExpansionLoops kernweave::far::loops_avx2 = kernweave::avx2::far_loops::kLoops;
#endif
