// Combines slices of a source with the slices of an array that an index names, equal numbers one after the other:
//   for s: array[.., index[s], ..] = array[.., index[s], ..] (+) alpha * source[.., s, ..]
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include "arrays/pieces.hpp"

namespace kernweave::arrays {

enum class Combine { sum, prod, min, max };

// The array as three extents: before, along and after the dimension that is indexed.
struct Shape {
  Index before = 1, extent = 0, after = 1;
  KW_FN Index slice() const { return before * after; }
};

// The steps in the source from one number to the next along each extent; 0 if one number serves all.
struct Steps {
  Index before = 1, item = 1, after = 1;
};

struct IndexAdd {
  Shape shape;
  Steps steps;
  Combine op = Combine::sum;
  bool reproducible = true;  // the same bits for any number of threads
  Workers workers;
};

// --- combine -------------------------------------------------------------------------------------------------------
// Operations combine two numbers, on the CPU and on a device. An operation has
//   term(alpha, value)        the contribution of an item
//   combine(state, term)      the state after the term
//   kNeutral                  the state before any item
//   open(value), close(state, &overflow)   turn numbers of the array into states and back

namespace combine {

struct Doubles {
  using Value = double;
  using State = double;
  KW_FN static double term(double alpha, double value) { return alpha * value; }
  KW_FN static double open(double value) { return value; }
  KW_FN static double close(double state, bool*) { return state; }
};

// Tells whether a value is NaN, which stays in Min and Max.
KW_FN bool not_a_number(double value) { return value != value; }

struct Sum : Doubles {
  static constexpr double kNeutral = -0.0;  // a start of 0 would turn -0 into 0
  KW_FN static double combine(double state, double term) { return state + term; }
};
struct Prod : Doubles {
  static constexpr double kNeutral = 1.0;
  KW_FN static double combine(double state, double term) { return state * term; }
};
struct Min : Doubles {
  static constexpr double kNeutral = std::numeric_limits<double>::infinity();
  KW_FN static double combine(double state, double term) { return term < state || not_a_number(term) ? term : state; }
};
struct Max : Doubles {
  static constexpr double kNeutral = -std::numeric_limits<double>::infinity();
  KW_FN static double combine(double state, double term) { return term > state || not_a_number(term) ? term : state; }
};

// Whole numbers, counted in 64 bits. Two states never change again: missing, and too large.
struct Ints {
  using Value = int;
  using State = std::int64_t;
  static constexpr int kMissingInt = std::numeric_limits<int>::min();
  static constexpr State kMostInt = std::numeric_limits<int>::max();
  static constexpr State kMissing = std::numeric_limits<State>::min(), kTooLarge = kMissing + 1;

  KW_FN static bool stays(State state) { return state <= kTooLarge; }
  KW_FN static bool fits(State state) { return state >= -kMostInt && state <= kMostInt; }
  KW_FN static State open(int value) { return value == kMissingInt ? kMissing : value; }
  KW_FN static int close(State state, bool* overflow) {
    if (state == kMissing) return kMissingInt;
    if (fits(state)) return static_cast<int>(state);
    *overflow = true;
    return kMissingInt;
  }
  KW_FN static State term(State alpha, int value) {
    if (value == kMissingInt) return kMissing;
    const State found = alpha * value;
    return fits(found) ? found : kTooLarge;
  }
  // Returns the lower of two states if one of them stays (missing goes before too large), else f().
  template <class F>
  KW_FN static State unless_stays(State a, State b, F f) {
    return stays(a) || stays(b) ? std::min(a, b) : f();
  }
};

struct IntSum : Ints {
  static constexpr State kNeutral = 0;
  KW_FN static State combine(State state, State term) {
    return unless_stays(state, term, [=] { return state + term; });
  }
};
// A product that is too large may yet become 0.
struct IntProd : Ints {
  static constexpr State kNeutral = 1, kBeyond = kMostInt + 1;
  KW_FN static State combine(State state, State term) {
    return unless_stays(state, term, [=] {
      const State found = state * term;
      return found > kBeyond ? kBeyond : found < -kBeyond ? -kBeyond : found;
    });
  }
};
struct IntMin : Ints {
  static constexpr State kNeutral = std::numeric_limits<State>::max();
  KW_FN static State combine(State state, State term) { return std::min(state, term); }
};
struct IntMax : Ints {
  static constexpr State kNeutral = kTooLarge + 1;
  KW_FN static State combine(State state, State term) {
    return unless_stays(state, term, [=] { return std::max(state, term); });
  }
};

// Calls f with an operation of doubles, or of integers.
template <class Sums, class Products, class Least, class Greatest, class F>
auto with_one_of(Combine op, F f) {
  switch (op) {
    case Combine::sum: return f(Sums());
    case Combine::prod: return f(Products());
    case Combine::min: return f(Least());
    case Combine::max: break;
  }
  return f(Greatest());
}
template <class F>
auto with_doubles(Combine op, F f) {
  return with_one_of<Sum, Prod, Min, Max>(op, f);
}
template <class F>
auto with_integers(Combine op, F f) {
  return with_one_of<IntSum, IntProd, IntMin, IntMax>(op, f);
}

}  // namespace combine

using combine::with_doubles;
using combine::with_integers;

}  // namespace kernweave::arrays
