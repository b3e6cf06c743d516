// Pairs of a common kind: a fold of a row and a column, a chain of calls with one result each, a reduction. Of these
// kinds (fused.def) only the number of components is not known when the engines are compiled. Knows no lane.
#pragma once
#include "names.hpp"

namespace kernweave {

// What a call takes: what an earlier one has found (counted from 1 on; 0 is the fold), or one of these.
enum Argument { kNoArgument = -1, kOnce = -2, kOfRow = -3, kOfColumn = -4 };

struct CallRow {
  Op op;
  int x, y;
};

template <Op kOpOf, int kFirst, int kSecond = kNoArgument>
struct Of {
  static constexpr Op kOp = kOpOf;
  static constexpr int kX = kFirst, kY = kSecond;
  template <Argument kArgument>
  static constexpr bool kTakes = kX == kArgument || kY == kArgument;
};
template <int kFirst>
using Times = Of<Op::Mult, kFirst, kOnce>;
template <int kFirst>
using Plus = Of<Op::Add, kFirst, kOnce>;

template <class... Calls>
struct Chain {
  static constexpr int kLength = static_cast<int>(sizeof...(Calls));
  static constexpr CallRow kRows[kLength + 1] = {{Calls::kOp, Calls::kX, Calls::kY}...,
                                                 {Op::count, kNoArgument, kNoArgument}};
};

}  // namespace kernweave
