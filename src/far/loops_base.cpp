// The loops in what every machine of this build has.
#include "far/loops.hpp"
#include "lanes/isa.hpp"

#define KW_ISA base
namespace kernweave {
inline namespace KW_ISA {
constexpr int kVectorBytes = 16;
}  // inline namespace KW_ISA
}  // namespace kernweave
#include "far/loops-inl.hpp"

const kernweave::far::ExpansionLoops kernweave::far::loops_base = kernweave::base::far_loops::kLoops;
