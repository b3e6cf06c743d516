// Inverses. A division keeps the divider busy and nothing else; an estimate and its corrections, what multiplies. So
// one or two of four columns of a strip are estimated, the rest are divided, and both go on at the same time. Included
// once per instruction set.
#pragma once
#include "cpu/interleave-inl.hpp"

namespace kernweave {
inline namespace KW_ISA {

#if defined(__x86_64__)
// Corrections want a product and a sum that are rounded once.
constexpr bool kEstimatesInverses = kJoined;

// An estimate of 1 / x: 11 bits or more where it and x are ordinary float32 numbers; else anything.
template <class T>
KW_FN Pack<T> inverse_estimate(Pack<T> x) {
  constexpr bool is_float = sizeof(T) == 4;
  if constexpr (kVectorBytes == 64 && is_float) x.v = _mm512_maskz_rcp14_ps(-1, x.v);
  if constexpr (kVectorBytes == 64 && !is_float) x.v = _mm512_maskz_rcp14_pd(-1, x.v);
  if constexpr (kVectorBytes == 32 && is_float) x.v = _mm256_rcp_ps(x.v);
  if constexpr (kVectorBytes == 32 && !is_float) x.v = _mm256_cvtps_pd(_mm_rcp_ps(_mm256_cvtpd_ps(x.v)));
  return x;
}
#else
constexpr bool kEstimatesInverses = false;
template <class T>
KW_FN Pack<T> inverse_estimate(Pack<T> x) {
  return x;
}
#endif

// An inverse by an estimate, and what the estimate left of 1: at most 2^-11 in size, or 1, infinite or NaN where it was
// none.
template <class T>
struct NearInverse {
  Pack<T> value, left;

  KW_FN explicit NearInverse(Pack<T> y) : value(inverse_estimate(y)), left(Pack<T>(1.0) - y * value) {
    value = value + value * (sizeof(T) == 8 ? left * left + left : left);
    if constexpr (sizeof(T) == 8) value = value + value * (Pack<T>(1.0) - y * value);
  }
};

// Inverses that go into sums, where a unit or two in the last place is no matter. Rows of a strip are treated alike, so
// that equal rows have equal sums.
template <class T>
class Inverses {
  using Column = Interleaved<Pack<T>>;
  // An estimate that is converted to float32 and back and corrected twice keeps results waiting: one of four columns
  // does, as fast as none on an AMD machine whose divider is fast, where one of two took an eighth longer
  // (bench/notes/13-cpu-12.md).
  static constexpr bool kOneOfFour = sizeof(T) == 8 && kVectorBytes == 32;

 public:
  KW_FN Inverses() : told_(0.0), again_(true) {}
  // Of two columns.
  KW_FN Interleaved<Column> of(Interleaved<Column> y) {
    again_ = !again_;
    if (kOneOfFour && again_) return Interleaved<Column>(1.0) / y;
    const NearInverse<T> one(y.second.first), other(y.second.second);
    told_ = one.left * one.left + (other.left * other.left + told_);
    return {Column(1.0) / y.first, {one.value, other.value}};
  }
  // Were all estimates ones? Each leaves 2^-22 in squares, so that many may be; what is none leaves 1, or NaN.
  KW_FN bool well_told() const { return all(told_ < Pack<T>(0.5)); }

 private:
  Pack<T> told_;
  bool again_;  // the second two of a strip's columns?
};

}  // inline namespace KW_ISA
}  // namespace kernweave
