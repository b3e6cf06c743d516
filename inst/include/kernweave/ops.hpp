// Turns the rows of ops.def into functions, one struct per operation. Knows no engine.
// All functions are constexpr, so that an engine may run them on a lane of its own at compile time.
// A struct has `eval` (element-wise), `start` and `next` (folds), or `loop` (operations with their own loop).
#pragma once
#include "lane.hpp"
#include "read.hpp"
#include "special.hpp"
#include "op/matrices.hpp"
#include "op/places.hpp"
#include "op/radial_table.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace op {

#define UNARY(Name, fn, kind, value, ...) \
  struct Name { \
    template <class L> \
    KW_FN static constexpr L eval(L x) { return number<L>(value); } \
  };
#define BINARY(Name, fn, kind, value, ...) \
  struct Name { \
    template <class L> \
    KW_FN static constexpr L eval(L x, L y) { return number<L>(value); } \
  };
#define TERNARY(Name, fn, kind, value, ...) \
  struct Name { \
    template <class L> \
    KW_FN static constexpr L eval(L x, L y, L z) { return number<L>(value); } \
  };
#define FOLD1(Name, fn, kind, first, following, ...) \
  struct Name { \
    template <class L> \
    KW_FN static constexpr L start() { return L(first); } \
    template <class L> \
    KW_FN static constexpr L next(L acc, L x) { return number<L>(following); } \
  };
#define FOLD2(Name, fn, kind, first, following, ...) \
  struct Name { \
    template <class L> \
    KW_FN static constexpr L start() { return L(first); } \
    template <class L> \
    KW_FN static constexpr L next(L acc, L x, L y) { return number<L>(following); } \
  };
#include "ops.def"

}  // namespace op
}  // inline namespace KW_ISA
}  // namespace kernweave
