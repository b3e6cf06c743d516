// The rows of ops.def on any lane.
#pragma once
#include <optional>
#include <vector>
#include "expr/table.hpp"
#include "kernweave/names.hpp"
#include "kernweave/ops.hpp"

namespace kernweave {

// The value of an element-wise operation, or what a fold makes of what came before and one step's arguments.
template <class L>
using RowFn = L (*)(const L* in);

// Null for other operations.
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
// Finds traits of operations from their rows: by trying the rows on numbers, and from what their adjoints read.

// Fills in what is found by trying.
void find_traits(OpRow* row);

// The arguments in which an operation is linear, all at once, while all others are numbers; those that are `fixed` may
// be. None where there are no such arguments: the adjoints of these read none of them, and nor do they read the result.
std::optional<std::vector<bool>> linear_arguments(Op op, const std::vector<bool>& fixed);

}  // namespace kernweave
