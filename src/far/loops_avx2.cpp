// The loops in AVX2.
#include "cpu/target.hpp"
#include "far/loops.hpp"

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

namespace loops = kernweave::avx2::far_loops;
const kernweave::far::Loops kernweave::far::loops_avx2 = {
    loops::kLanes,         loops::transform,    loops::multiply,    loops::moments<1>, loops::moments<2>,
    loops::moments<3>, loops::evaluate<1>, loops::evaluate<2>, loops::evaluate<3>};
#endif
