// Chains: pairs that are one fold of a row and a column, then calls with one result each, then one reduction. The
// common ones (fused.def) are compiled ahead, since all but the number of components is known then. Knows no lane.
#pragma once
#include "names.hpp"

namespace kernweave {

// Argument of a call: the value of an earlier call by its number (from 1 on; 0 is the fold), or one of these.
enum Argument { kNoArgument = -1, kOnce = -2, kOfRow = -3, kOfColumn = -4, kOfTable = -5 };

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
