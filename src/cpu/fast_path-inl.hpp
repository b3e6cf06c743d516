// Fast paths of functions for ordinary arguments: one look at all vectors of a strip chooses the path. Two lanes go
// through it in step. Included once per instruction set.
#pragma once
#include "lanes/math-inl.hpp"
#include "kernweave/ops.hpp"

namespace kernweave {
inline namespace KW_ISA {

// --- two lanes as one -----------------------------------------------------------------------------------------------
// Two lanes as one, which go through the same arithmetic in step: while one waits for its last result the other has
// work to do, and the processor need not look far ahead to find it.

template <class L>
struct Interleaved {
  using Number = typename L::Number;
  struct Mask {
    typename L::Mask first, second;

    KW_FN friend Mask operator&&(Mask a, Mask b) { return {a.first && b.first, a.second && b.second}; }
    KW_FN friend Mask operator||(Mask a, Mask b) { return {a.first || b.first, a.second || b.second}; }
    KW_FN friend Mask operator!(Mask a) { return {!a.first, !a.second}; }
  };
  L first, second;

  Interleaved() = default;
  KW_FN Interleaved(L one, L other) : first(one), second(other) {}
  KW_FN Interleaved(double literal) : first(literal), second(literal) {}

  KW_FN friend Interleaved operator+(Interleaved a, Interleaved b) { return {a.first + b.first, a.second + b.second}; }
  KW_FN friend Interleaved operator-(Interleaved a, Interleaved b) { return {a.first - b.first, a.second - b.second}; }
  KW_FN friend Interleaved operator*(Interleaved a, Interleaved b) { return {a.first * b.first, a.second * b.second}; }
  KW_FN friend Interleaved operator/(Interleaved a, Interleaved b) { return {a.first / b.first, a.second / b.second}; }
  KW_FN friend Interleaved operator-(Interleaved a) { return {-a.first, -a.second}; }

  KW_FN friend Mask operator<(Interleaved a, Interleaved b) { return {a.first < b.first, a.second < b.second}; }
  KW_FN friend Mask operator<=(Interleaved a, Interleaved b) { return {a.first <= b.first, a.second <= b.second}; }
  KW_FN friend Mask operator==(Interleaved a, Interleaved b) { return {a.first == b.first, a.second == b.second}; }
  KW_FN friend Mask differs(Interleaved a, Interleaved b) {
    return {differs(a.first, b.first), differs(a.second, b.second)};
  }
  KW_FN friend Mask truth(Interleaved a) { return {truth(a.first), truth(a.second)}; }
  KW_FN friend Mask is_nan(Interleaved a) { return {is_nan(a.first), is_nan(a.second)}; }
  KW_FN friend Interleaved select(Mask test, Interleaved yes, Interleaved no) {
    return {select(test.first, yes.first, no.first), select(test.second, yes.second, no.second)};
  }
  KW_FN friend Interleaved lesser(Interleaved a, Interleaved b) {
    return {lesser(a.first, b.first), lesser(a.second, b.second)};
  }
  KW_FN friend Interleaved greater(Interleaved a, Interleaved b) {
    return {greater(a.first, b.first), greater(a.second, b.second)};
  }
  KW_FN friend Interleaved square(Interleaved a) { return a * a; }

  // Powers of e and of 2, functions made of them, logarithms, sines and cosines work for any lane that has these.
  KW_FN friend Interleaved half_power(Interleaved a) { return {half_power(a.first), half_power(a.second)}; }
  KW_FN friend Interleaved beside_whole(Interleaved a) { return {beside_whole(a.first), beside_whole(a.second)}; }
  KW_FN friend Interleaved times_power(Interleaved a, Interleaved b) {
    return {times_power(a.first, b.first), times_power(a.second, b.second)};
  }
  KW_FN friend Interleaved abs(Interleaved a) { return {abs(a.first), abs(a.second)}; }
  KW_FN friend Interleaved turned_with(Interleaved a, Interleaved b) {
    return {turned_with(a.first, b.first), turned_with(a.second, b.second)};
  }
  KW_FN friend Interleaved turned_if_odd(Interleaved a, Interleaved b) {
    return {turned_if_odd(a.first, b.first), turned_if_odd(a.second, b.second)};
  }
  KW_FN friend Split<Interleaved> split(Interleaved a) {
    const Split<L> x = split(a.first), y = split(a.second);
    return {{x.exponent, y.exponent}, {x.fraction, y.fraction}};
  }
  // Functions without a common part run one after the other.
  KW_FN friend Interleaved sqrt(Interleaved a) { return {sqrt(a.first), sqrt(a.second)}; }
  KW_FN friend Interleaved rsqrt(Interleaved a) { return {rsqrt(a.first), rsqrt(a.second)}; }
  KW_FN friend Interleaved inverse_sqrt(Interleaved a) { return {inverse_sqrt(a.first), inverse_sqrt(a.second)}; }
  KW_FN friend Interleaved near_inverse_sqrt(Interleaved a) {
    return {near_inverse_sqrt(a.first), near_inverse_sqrt(a.second)};
  }
};

// --- sums of inverses -----------------------------------------------------------------------------------------------
// Divisions occupy the divider, estimates with their corrections the multipliers. So two of four columns of a strip are
// estimated and the rest divided, and both go on at the same time.

#if defined(__x86_64__)
// Estimates 1 / x: 11 bits or more if x and 1 / x are ordinary float32 numbers; else the result is arbitrary.
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

// An inverse by estimate, and left = 1 - y * estimate: at most 2^-11 in size; 1, infinite or NaN if the estimate
// failed.
template <class T>
struct NearInverse {
  Pack<T> value, left;

  KW_FN explicit NearInverse(Pack<T> y) : value(inverse_estimate(y)), left(Pack<T>(1.0) - y * value) {
    value = value + value * (sizeof(T) == 8 ? left * left + left : left);
    if constexpr (sizeof(T) == 8) value = value + value * (Pack<T>(1.0) - y * value);
  }
};

// The inverses of a strip for sums, in which a unit or two in the last place do not matter. Rows are treated alike, so
// that equal rows have equal sums.
template <class T>
class Inverses {
  using Column = Interleaved<Pack<T>>;

 public:
  KW_FN Inverses() : told_(0.0) {}
  // Returns the inverses of two columns.
  KW_FN Interleaved<Column> of(Interleaved<Column> y) {
    const NearInverse<T> one(y.second.first), other(y.second.second);
    told_ = one.left * one.left + (other.left * other.left + told_);
    return {Column(1.0) / y.first, {one.value, other.value}};
  }
  // Tells whether all estimates were good. Each adds no more than 2^-22 to the sum of squares, a failed one 1 or NaN.
  KW_FN bool well_told() const { return all(told_ < Pack<T>(0.5)); }

 private:
  Pack<T> told_;
};

// Looks at a strip: adds up the squares of arguments, in which neither a large argument nor a NaN can hide.
template <class T>
class CircleLook {
 public:
  KW_FN CircleLook() : squares_(0.0) {}
  KW_FN void note(Pack<T> x) { squares_ = x * x + squares_; }
  KW_FN bool all_plain() const { return all(squares_ <= Pack<T>(kCircleLimit * kCircleLimit)); }

 private:
  Pack<T> squares_;
};

// The largest argument of an inverse root's fast path, and the inverse of the smallest. Between them the estimate is
// good, and squares are in range.
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
// Rsqrt and InvSqrt differ at 0, which is not on the fast path.
template <class T>
struct FastPath<op::Rsqrt, T> : FastPath<op::InvSqrt, T> {};
#endif

// Rows with a fast version for sums that shows afterwards whether it has failed: by values that are not finite, or by
// the error `left` of estimated inverses.
template <class Row, class T>
struct Telling {
  static constexpr bool kTells = false;
};
#if defined(__x86_64__)
// Tells whether inverses are estimated. AVX2 estimates float32 alone: to convert and correct float64 twice takes as
// long as to divide. Corrections need a product and a sum that are rounded once.
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
