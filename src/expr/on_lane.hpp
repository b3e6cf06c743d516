// The rows of ops.def on any lane.
#pragma once
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

}  // namespace kernweave
