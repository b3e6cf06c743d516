// The names of all operations and reductions, for the engine and for kernels. Knows nothing of what they do, and no
// lane.
#pragma once

namespace kernweave {

// The structural operations first, then one per row.
//   Swap(f)          f with i and j exchanged
//   Take(f, rows)    f with one axis (attribute 0: i, 1: j) replaced by the row numbers `rows`
//   Gather(v, rows)  a variable read at row numbers: what Take becomes at the leaves
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

}  // namespace kernweave
