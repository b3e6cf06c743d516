// The rows of ops.def on any lane.
#pragma once
#include <optional>
#include <vector>
#include "expr/table.hpp"
#include "kernweave/names.hpp"
#include "kernweave/ops.hpp"

namespace kernweave {

// The value of an element-wise operation, or the next result of a fold: of the earlier result and a step's arguments.
template <class L>
using RowFn = L (*)(const L* in);

// Returns the function of an operation; null for operations that are neither element-wise nor folds.
template <class L>
RowFn<L> on_lane(Op op) {
  switch (op) {
#define UNARY(Name, ...) \
  case Op::Name: return [](const L* in) { return op::Name::eval(in[0]); };
#define BINARY(Name, ...) \
  case Op::Name: return [](const L* in) { return op::Name::eval(in[0], in[1]); };
#define TERNARY(Name, ...) \
  case Op::Name: return [](const L* in) { return op::Name::eval(in[0], in[1], in[2]); };
#define FOLD1(Name, ...) \
  case Op::Name: return [](const L* in) { return op::Name::next(in[0], in[1]); };
#define FOLD2(Name, ...) \
  case Op::Name: return [](const L* in) { return op::Name::next(in[0], in[1], in[2]); };
#include "kernweave/ops.def"
    default: return nullptr;
  }
}

// --- traits.cpp ----------------------------------------------------------------------------------------------------
// Finds traits of operations from their rows: by trying the rows on numbers, and from the letters their adjoints read.

// Fills in the traits that are found by trying.
void find_traits(OpRow* row);

// Returns the arguments in which an operation is linear, all at once, if all others are constant, which `fixed` ones
// may be. None if there are none. The adjoints of linear arguments read neither linear arguments nor the result.
std::optional<std::vector<bool>> linear_arguments(Op op, const std::vector<bool>& fixed);

}  // namespace kernweave
