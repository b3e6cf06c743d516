// The loops in AVX-512.
#include "cpu/target.hpp"
#include "far/loops.hpp"

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

namespace loops = kernweave::avx512::far_loops;
const kernweave::far::Loops kernweave::far::loops_avx512 = {
    loops::kLanes,         loops::transform,    loops::multiply,    loops::moments<1>, loops::moments<2>,
    loops::moments<3>, loops::evaluate<1>, loops::evaluate<2>, loops::evaluate<3>};
#endif
