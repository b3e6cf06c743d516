// The names of all operations and reductions. Knows nothing of what they do, and no lane.
#pragma once
#include <cstdint>

namespace kernweave {

// The structural operations first, then one per row.
//   Swap(f)          f with i and j exchanged
//   Take(f, rows)    f with one axis (attribute 0: i, 1: j) replaced by the row numbers `rows`
//   Gather(v, rows)  a variable read at row numbers: what Take becomes at the leaves
enum class Op : std::uint16_t {
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
#include "kernweave/ops.def"
  count
};

enum class Red : std::uint8_t {
#define REDUCTION(Name, ...) Name,
#include "kernweave/reductions.def"
  count
};

}  // namespace kernweave
