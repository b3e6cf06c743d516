// Two lanes as one, which go through the same arithmetic in step: while one waits for its last result the other has
// work to do, and the processor need not look far ahead to find it. Included once per instruction set.
#pragma once
#include "lanes/math-inl.hpp"

namespace kernweave {
inline namespace KW_ISA {

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

  // Powers of e and of 2, what is made of them, logarithms, sines and cosines are written for any lane that has these.
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

}  // inline namespace KW_ISA
}  // namespace kernweave
