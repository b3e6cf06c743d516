// Prod: the product so far, kept within range by whole powers of 2^32 beside it.
#pragma once
#include "state.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace red {

// Carried on in float64 from tile to tile, as sums are.
template <class L>
struct Prod : StateDefaults {
  static constexpr bool kAdds = true;
  static constexpr double kLarge = 0x1p32, kSmall = 0x1p-32;  // no float times this is out of range
  L product;
  L powers;  // of 2^32

  KW_FN void init(void*, int) { restart(); }
  KW_FN void step(L value, L, typename L::Indices, typename L::Mask valid) { take(select(valid, value, L(1.0))); }
  KW_FN void restart() {
    product = L(1.0);
    powers = L(0.0);
  }
  template <class M>
  KW_FN void merge(const Prod<M>& later, int lane) {
    take(from_lane<L>(later.product, lane));
    powers = powers + from_lane<L>(later.powers, lane);
  }
  // Half of the powers at a time: the other half may bring back what one would lose.
  KW_FN void finish(L* values, Index*) const {
    const L half = exp2(powers * L(16.0));
    values[0] = (product * half) * half;
  }

 private:
  KW_FN void take(L value) {
    product = product * value;
    const typename L::Mask large = L(kLarge) < abs(product),
                           small = abs(product) < L(kSmall) && differs(product, L(0.0));
    product = product * select(large, L(kSmall), select(small, L(kLarge), L(1.0)));
    powers = powers + select(large, L(1.0), select(small, L(-1.0), L(0.0)));
  }
};

}  // namespace red
}  // inline namespace KW_ISA
}  // namespace kernweave
