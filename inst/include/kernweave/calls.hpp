// Carries out the calls of a chain (names.hpp) in any lane.
#pragma once
#include "names.hpp"
#include "ops.hpp"

namespace kernweave {
inline namespace KW_ISA {

// The row of ops.def behind an Op, for a call and for a fold.
template <Op kOp>
struct Called;
#define UNARY(Name, ...) \
  template <> \
  struct Called<Op::Name> { \
    using Row = op::Name; \
    template <class L> \
    KW_FN static constexpr L eval(L x, L) { return op::Name::eval(x); } \
  };
#define BINARY(Name, ...) \
  template <> \
  struct Called<Op::Name> { \
    using Row = op::Name; \
    template <class L> \
    KW_FN static constexpr L eval(L x, L y) { return op::Name::eval(x, y); } \
  };
#define FOLD2(Name, ...) \
  template <> \
  struct Called<Op::Name> : op::Name {};
// An engine that makes these calls brings the table (LookingUp in src/cpu/fused-inl.hpp).
#define LOOKUP(Name, ...) \
  template <> \
  struct Called<Op::Name> { \
    using Row = op::Name; \
  };
#include "ops.def"

// Computes a call as its row of ops.def defines it. Engines have other ways, with faster functions for some rows.
struct AsWritten {
  template <Op kOp, class L>
  KW_FN L call(L x, L y) {
    return Called<kOp>::eval(x, y);
  }
};

// Carries out the calls from number kNumber on, for row k and column c of a strip; returns the value of the last one.
// found[0] is the fold's value, found[n] the value of call n. A call's other arguments (a number of the row, of the
// column, or one for all pairs) come from its element of `taken`.
template <int kNumber, class L, class Way, class Takes, class Call, class... Calls>
KW_FN L follow(Way* way, L* found, const Takes* taken, int k, int c) {
  found[kNumber] = way->template call<Call::kOp>(taken->template get<Call::kX>(found, k, c),
                                                 taken->template get<Call::kY>(found, k, c));
  if constexpr (sizeof...(Calls) > 0) return follow<kNumber + 1, L, Way, Takes, Calls...>(way, found, taken + 1, k, c);
  else return found[kNumber];
}

}  // inline namespace KW_ISA
}  // namespace kernweave
