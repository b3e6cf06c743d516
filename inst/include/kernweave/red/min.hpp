// Min: the smallest value so far; NaN once one has been seen.
#pragma once
#include "state.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace red {

template <class L>
struct Min : StateDefaults {
  static constexpr Matters kMatters = Matters::least;
  L least;

  KW_FN void init(void*, int) { least = infinity<L>(); }
  KW_FN void step(L value, L, typename L::Indices, typename L::Mask valid) { take(select(valid, value, least)); }
  template <class M>
  KW_FN void merge(const Min<M>& later, int lane) {
    take(from_lane<L>(later.least, lane));
  }
  KW_FN void finish(L* values, Index*) const { values[0] = least; }
  KW_FN L limit() const { return select(is_nan(least), -infinity<L>(), least); }

 private:
  KW_FN void take(L value) { least = select(is_nan(value), value, select(value < least, value, least)); }
};

}  // namespace red
}  // inline namespace KW_ISA
}  // namespace kernweave
