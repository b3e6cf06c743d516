// The names of all operations and reductions, for the engine and for kernels, and chains of calls by name. Knows no
// implementation and no lane.
#pragma once

namespace kernweave {

// The structural operations first, then one per row.
//   Swap(f)          f with i and j exchanged
//   Take(f, rows)    f with one axis (attribute 0: i, 1: j) replaced by the row numbers `rows`
//   Gather(v, rows)  a variable read at row numbers: Take becomes this at the leaves
enum class Op : unsigned short {
  Var,
  Number,
  Swap,
  Take,
  Gather,
#define UNARY(Name, ...) Name,
#define BINARY(Name, ...) Name,
#define TERNARY(Name, ...) Name,
#define FOLD1(Name, ...) Name,
#define FOLD2(Name, ...) Name,
#define LOOP1(Name, ...) Name,
#define LOOP2(Name, ...) Name,
#define ALIAS1(Name, ...) Name,
#define ALIAS2(Name, ...) Name,
#define ALIAS3(Name, ...) Name,
#include "ops.def"
  count
};

enum class Red : unsigned char {
#define REDUCTION(Name, ...) Name,
#include "reductions.def"
  count
};

// --- chains ---------------------------------------------------------------------------------------------------------
// A chain computes a pair by one fold of a row and a column, then calls with one result each, then one reduction. The
// common chains (fused.def) are compiled ahead, since only the number of components is not known then.

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
