// Order of terms, for states that pick some of them. They come by ascending numbers, and of equal ones the first wins.
// An engine that takes them in another order says how each is called, and equal terms are looked at one by one.
#pragma once
#include "../lane.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace red {

// The next larger number, or one a little larger. NaN, which bounds nothing, where it is infinite.
template <class L>
KW_FN L just_above(L x) {
  constexpr bool kFloat = sizeof(typename L::Number) == 4;
  constexpr double kStep = kFloat ? 0x1p-22 : 0x1p-51, kLeast = kFloat ? 0x1p-126 : 0x1p-1022;
  return select(x < infinity<L>(), x + (abs(x) * L(kStep) + L(kLeast)), nan<L>());
}

// A single lane is merged into, and sees all terms.
template <class L, bool kMany = (L::kLanes > 1)>
struct TermOrder {
  template <class I>
  KW_FN static I called(I number) {
    return number;
  }
  KW_FN static typename L::Number shut_out(typename L::Number value) { return value; }
};

template <class L>
struct TermOrder<L, true> {
  const Index* names = nullptr;  // of terms by their number; null: they are called by that

  KW_FN bool in_order() const { return !names; }

  KW_FN typename L::Place called(typename L::Place number) const {
    return names ? static_cast<typename L::Place>(names[number]) : number;
  }
  // The least value that cannot enter where this one is the last that may go.
  KW_FN typename L::Number shut_out(typename L::Number value) const {
    return names ? lane(just_above(L(static_cast<double>(value))), 0) : value;
  }
};

}  // namespace red
}  // inline namespace KW_ISA
}  // namespace kernweave
