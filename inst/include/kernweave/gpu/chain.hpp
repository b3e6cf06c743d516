// Pairs of which only the number of components is not known when they are compiled: a fold of a row and a column, a chain of calls, a
// reduction. wholes.def has them all; whole.hpp makes their kernels, and src/cuda/whole.cpp finds the one for a script.
#pragma once
#include "script.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// What a call takes: what an earlier one has found (counted from 1 on; 0 is the fold), or one of these.
enum Argument { kNothing = -1, kOnce = -2, kOfRow = -3, kOfColumn = -4 };

template <Op kOpOf, int kFirst, int kSecond = kNothing>
struct Of {
  static constexpr Op kOp = kOpOf;
  static constexpr int kX = kFirst, kY = kSecond;
  KW_FN static constexpr bool takes(Argument argument) { return kX == argument || kY == argument; }
};
template <int kFirst>
using Times = Of<Op::Mult, kFirst, kOnce>;
template <int kFirst>
using Plus = Of<Op::Add, kFirst, kOnce>;

template <class... Calls>
struct Chain {};

// A thread's rows, and the columns that it takes at a time. Fewer rows where each needs a list of its own: ten nearest of three components
// took 8 ms with two and 14 with four (H100).
struct WholeShape {
  int rows, columns;
};
KW_FN constexpr WholeShape whole_shape(bool lists, int number_bytes) { return lists ? WholeShape{2, 64 / number_bytes} : WholeShape{16 / number_bytes, 8}; }

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
