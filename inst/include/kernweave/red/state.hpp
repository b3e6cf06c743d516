// The defaults of what engines ask of every state.
#pragma once
#include "../lane.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace red {

// The terms that may change a result: all; the least; terms that are not 0.
enum class Matters { all, least, not_zero };

// A state derives from this, and says itself what is otherwise with it (../reductions.hpp).
struct StateDefaults {
  static constexpr bool kAdds = false, kExponents = false, kShort = false, kLooks = false, kPicks = false;
  static constexpr Matters kMatters = Matters::all;
  KW_FN static constexpr long long storage(int) { return 0; }
};

}  // namespace red
}  // inline namespace KW_ISA
}  // namespace kernweave
