// Sums of inverses. Divisions occupy the divider, estimates with their corrections the multipliers. So two of four
// columns of a strip are estimated and the rest divided, and both go on at the same time. Included once per instruction
// set.
#pragma once
#include "cpu/interleave-inl.hpp"

namespace kernweave {
inline namespace KW_ISA {

#if defined(__x86_64__)
// An estimate of 1 / x: 11 bits or more where it and x are ordinary float32 numbers; else anything.
template <class T>
KW_FN Pack<T> inverse_estimate(Pack<T> x) {
  constexpr bool is_float = sizeof(T) == 4;
  if constexpr (kVectorBytes == 64 && is_float) x.v = _mm512_maskz_rcp14_ps(-1, x.v);
  if constexpr (kVectorBytes == 64 && !is_float) x.v = _mm512_maskz_rcp14_pd(-1, x.v);
  if constexpr (kVectorBytes == 32 && is_float) x.v = _mm256_rcp_ps(x.v);
  return x;
}
#else
template <class T>
KW_FN Pack<T> inverse_estimate(Pack<T> x) {
  return x;
}
#endif

// An inverse by estimate, and what the estimate left of 1: at most 2^-11 in size; 1, infinite or NaN where there was
// none.
template <class T>
struct NearInverse {
  Pack<T> value, left;

  KW_FN explicit NearInverse(Pack<T> y) : value(inverse_estimate(y)), left(Pack<T>(1.0) - y * value) {
    value = value + value * (sizeof(T) == 8 ? left * left + left : left);
    if constexpr (sizeof(T) == 8) value = value + value * (Pack<T>(1.0) - y * value);
  }
};

// The inverses of a strip, for sums, where a unit or two in the last place do not matter. Rows are treated alike, so
// that equal rows have equal sums.
template <class T>
class Inverses {
  using Column = Interleaved<Pack<T>>;

 public:
  KW_FN Inverses() : told_(0.0) {}
  // The inverses of two columns.
  KW_FN Interleaved<Column> of(Interleaved<Column> y) {
    const NearInverse<T> one(y.second.first), other(y.second.second);
    told_ = one.left * one.left + (other.left * other.left + told_);
    return {Column(1.0) / y.first, {one.value, other.value}};
  }
  // Were all estimates good? Each adds no more than 2^-22 to the sum of squares, a failed one 1 or NaN.
  KW_FN bool well_told() const { return all(told_ < Pack<T>(0.5)); }

 private:
  Pack<T> told_;
};

}  // inline namespace KW_ISA
}  // namespace kernweave
