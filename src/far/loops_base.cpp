// The loops in what every machine of this build has.
#include "cpu/target.hpp"
#include "far/loops.hpp"

#define KW_ISA base
namespace kernweave {
inline namespace KW_ISA {
constexpr int kVectorBytes = 16;
}  // inline namespace KW_ISA
}  // namespace kernweave
#include "far/loops-inl.hpp"

namespace loops = kernweave::base::far_loops;
const kernweave::far::Loops kernweave::far::loops_base = {
    loops::kLanes,         loops::transform,    loops::multiply,    loops::moments<1>, loops::moments<2>,
    loops::moments<3>, loops::evaluate<1>, loops::evaluate<2>, loops::evaluate<3>};
