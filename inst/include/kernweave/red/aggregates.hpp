// States of one result: the sum, the product, the smallest value, and whether any value is true.
#pragma once
#include "state.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace red {

// Sum: the (weighted) total so far.
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

// Prod: the product so far, kept within range by whole powers of 2^32 beside it. It is carried on in float64 from tile
// to tile, as sums are.
template <class L>
struct Prod : StateDefaults {
  static constexpr bool kAdds = true;
  static constexpr double kLarge = 0x1p32, kSmall = 0x1p-32;  // a float times this stays in range
  L product;
  L powers;  // exponent of 2^32

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
  // Applies the powers in two halves: all of them at once might leave the range though the result does not.
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

// Min: the smallest value so far; NaN once a NaN has come.
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

// Any: has a true value come?
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
