// Fast paths of rows whose functions have one for ordinary arguments: one look at all vectors of a strip chooses it.
// Included once per instruction set.
#pragma once
#include "cpu/inverse-inl.hpp"
#include "kernweave/ops.hpp"
#include "lanes/math-inl.hpp"

namespace kernweave {
inline namespace KW_ISA {

// The look at a strip: notes arguments in a sum of squares, in which neither a large one nor a NaN can hide.
template <class T>
class CircleLook {
 public:
  KW_FN CircleLook() : squares_(0.0) {}
  KW_FN void note(Pack<T> x) { squares_ = x * x + squares_; }
  KW_FN bool all_plain() const { return all(squares_ <= Pack<T>(kCircleLimit * kCircleLimit)); }

 private:
  Pack<T> squares_;
};

// Largest argument of an inverse root's fast path, and inverse of the smallest: between them the estimate is good, and
// squares have room.
constexpr double kRootLimit = 0x1p50;

template <class T>
class RootLook {
 public:
  KW_FN RootLook() : squares_(0.0), least_(1.0) {}
  KW_FN void note(Pack<T> x) {
    squares_ = x * x + squares_;
    least_ = lesser(least_, x);
  }
  KW_FN bool all_plain() const {
    return all(squares_ <= Pack<T>(kRootLimit * kRootLimit) && Pack<T>(1 / kRootLimit) <= least_);
  }

 private:
  Pack<T> squares_, least_;
};

template <class Row, class T>
struct FastPath {
  static constexpr bool kShort = false;
};
template <class T>
struct FastPath<op::Sin, T> {
  static constexpr bool kShort = true;
  using Look = CircleLook<T>;
  template <class P>
  static KW_FN P value(P x) {
    return near_sin(x);
  }
};
template <class T>
struct FastPath<op::Cos, T> {
  static constexpr bool kShort = true;
  using Look = CircleLook<T>;
  template <class P>
  static KW_FN P value(P x) {
    return near_cos(x);
  }
};
#if defined(__x86_64__)
template <class T>
struct FastPath<op::InvSqrt, T> {
  static constexpr bool kShort = true;
  using Look = RootLook<T>;
  template <class P>
  static KW_FN P value(P x) {
    return near_inverse_sqrt(x);
  }
};
// 0, at which they differ, is not on the fast path.
template <class T>
struct FastPath<op::Rsqrt, T> : FastPath<op::InvSqrt, T> {};
#endif

// Rows with a way for sums that shows afterwards where it has failed: by values that are not finite, or in what
// estimates of inverses have left.
template <class Row, class T>
struct Telling {
  static constexpr bool kTells = false;
};
#if defined(__x86_64__)
// Whether inverses are estimated. AVX2 estimates float32 alone: to convert and correct float64 twice takes as long as
// to divide. Corrections need a product and a sum that are rounded once.
template <class T>
constexpr bool kEstimates = kJoined && (sizeof(T) == 4 || kVectorBytes == 64);
template <class T>
struct Telling<op::Inv, T> {
  static constexpr bool kTells = kEstimates<T>;
  template <class P>
  static KW_FN P value(Inverses<T>* inverses, P x) {
    return inverses->of(x);
  }
};
template <class T>
struct Telling<op::InvSqrt, T> {
  // In other cases the estimate is made in float32, and is 0, not infinite, for numbers beyond its range.
  static constexpr bool kTells = sizeof(T) == 4 || kVectorBytes == 64;
  template <class P>
  static KW_FN P value(Inverses<T>*, P x) {
    return near_inverse_sqrt(x);
  }
};
#endif

}  // inline namespace KW_ISA
}  // namespace kernweave
