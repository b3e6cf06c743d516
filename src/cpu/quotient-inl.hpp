// Quotients without the divider, for processors on which it takes long. Included once per instruction set.
#pragma once
#include "cpu/inverse-inl.hpp"

namespace kernweave {
inline namespace KW_ISA {

// x / y in float64, to the bit: an inverse within 2^-15 of a last place of the nearest number, a quotient by it within
// one or two, what that leaves of x, which is a number, and one rounding of the sum of both. By a division where the
// quotient is 0 or not finite, or so small or large that one of these may be: then the inverse is none either.
template <class T>
KW_FN Pack<T> multiplied_out(Pack<T> x, Pack<T> y) {
  using P = Pack<T>;
  static_assert(sizeof(T) == 8 && kEstimatesInverses, "corrections are those of float64, rounded once");
  const P inverse = NearInverse<T>(y).value;
  const P near = x * inverse;
  const P quotient = near + inverse * (x - y * near);
  const P size = abs(quotient);
  return all(P(0x1p-700) < size && size < P(0x1p700)) ? quotient : x / y;
}

// One column of four of a strip, while the others are divided: a fifth less time where nothing but quotients is to be
// found, on a processor whose divider takes eight cycles for a vector; two columns are slower again
// (bench/notes/14-cpu-13.md).
template <class T>
struct SparingDivider {
  static constexpr bool kSpares = sizeof(T) == 8 && kEstimatesInverses;
  static KW_FN Pack<T> value(int column, Pack<T> x, Pack<T> y) {
    if constexpr (kSpares)
      if (column == 3) return multiplied_out(x, y);
    return x / y;
  }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
