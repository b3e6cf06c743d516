// Sum: the (weighted) total so far.
#pragma once
#include "state.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace red {

template <class L>
struct Sum : StateDefaults {
  static constexpr bool kAdds = true;
  static constexpr Matters kMatters = Matters::not_zero;
  L total;

  KW_FN void init(void*, int) { total = L(0.0); }
  KW_FN void step(L value, L weight, typename L::Indices, typename L::Mask valid) {
    total = select(valid, total + value * weight, total);
  }
  KW_FN void restart() { total = L(0.0); }
  template <class M>
  KW_FN void merge(const Sum<M>& later, int lane) {
    total = total + from_lane<L>(later.total, lane);
  }
  KW_FN void times(L factor) { total = total * factor; }
  KW_FN void finish(L* values, Index*) const { values[0] = total; }
  KW_FN static L limit() { return L(0.0); }
};

}  // namespace red
}  // inline namespace KW_ISA
}  // namespace kernweave
