// The state of a reduction: the defaults of its properties, the order of its terms, and its row numbers.
#pragma once
#include "../lane.hpp"

namespace kernweave {
inline namespace KW_ISA {

// Row numbers, as ints if all of them fit, else as doubles. 0, which is "none", becomes the least int, or `none`.
struct RowNumbers {
  int* whole;
  double* wide;
  double none;

  KW_FN bool any() const { return whole != nullptr || wide != nullptr; }
  KW_FN void put(long long at, Index number) const {
    if (whole) whole[at] = number == 0 ? -2147483647 - 1 : static_cast<int>(number);
    if (wide) wide[at] = number == 0 ? none : static_cast<double>(number);
  }
};

namespace red {

// The terms that may change a result: all; the least; terms that are not 0.
enum class Matters { all, least, not_zero };

// The defaults of a state's properties. A state derives from this struct, and replaces some (../reductions.hpp).
struct StateDefaults {
  static constexpr bool kAdds = false, kExponents = false, kShort = false, kLooks = false, kPicks = false;
  static constexpr Matters kMatters = Matters::all;
  KW_FN static constexpr long long storage(int) { return 0; }
};

// --- the order of terms ---------------------------------------------------------------------------------------------
// A state that picks some terms gets terms by ascending numbers, and the first of equal terms wins. An engine that
// takes terms in another order gives each term a name (`names`), and equal terms are compared one by one.

// Returns the next larger number, or a little more; NaN, which bounds nothing, if x is infinite.
template <class L>
KW_FN L just_above(L x) {
  constexpr bool kFloat = sizeof(typename L::Number) == 4;
  constexpr double kStep = kFloat ? 0x1p-22 : 0x1p-51, kLeast = kFloat ? 0x1p-126 : 0x1p-1022;
  return select(x < infinity<L>(), x + (abs(x) * L(kStep) + L(kLeast)), nan<L>());
}

// The order for a single lane: other lanes are merged into it, and it sees all terms.
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
  const Index* names = nullptr;  // names of terms by their number; null: the number is the name

  KW_FN bool in_order() const { return !names; }

  KW_FN typename L::Place called(typename L::Place number) const {
    return names ? static_cast<typename L::Place>(names[number]) : number;
  }
  // Returns the least value that cannot enter a list whose last value is `value`.
  KW_FN typename L::Number shut_out(typename L::Number value) const {
    return names ? lane(just_above(L(static_cast<double>(value))), 0) : value;
  }
};

}  // namespace red
}  // inline namespace KW_ISA
}  // namespace kernweave
