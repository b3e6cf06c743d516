// Any: has a true value come?
#pragma once
#include "state.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace red {

template <class L>
struct Any : StateDefaults {
  static constexpr Matters kMatters = Matters::not_zero;
  L found;  // 1 or 0

  KW_FN void init(void*, int) { found = L(0.0); }
  KW_FN void step(L value, L, typename L::Indices, typename L::Mask valid) {
    found = select(valid && truth(value), L(1.0), found);
  }
  template <class M>
  KW_FN void merge(const Any<M>& later, int lane) {
    found = select(truth(found), found, from_lane<L>(later.found, lane));
  }
  KW_FN void finish(L* values, Index*) const { values[0] = found; }
  KW_FN L limit() const { return select(truth(found), infinity<L>(), L(0.0)); }
};

}  // namespace red
}  // inline namespace KW_ISA
}  // namespace kernweave
