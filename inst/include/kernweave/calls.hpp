// Chains of calls (chain.hpp), carried out in any lane.
#pragma once
#include "chain.hpp"
#include "ops.hpp"

namespace kernweave {
inline namespace KW_ISA {

// The row of ops.def that has a name, for a call and for a fold.
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
#include "ops.def"

// A way to carry a call out: as its row has it.
struct AsWritten {
  template <Op kOp, class L>
  KW_FN L call(L x, L y) {
    return Called<kOp>::eval(x, y);
  }
};

// The calls from number kNumber on, of row k and column c of those at hand; found[n] is what call n has found, found[0]
// what the fold has. What a call takes besides is what taken->get says, of a `Takes` for each.
template <int kNumber, class L, class Way, class Takes, class Call, class... Calls>
KW_FN L follow(Way* way, L* found, const Takes* taken, int k, int c) {
  found[kNumber] = way->template call<Call::kOp>(taken->template get<Call::kX>(found, k, c),
                                                 taken->template get<Call::kY>(found, k, c));
  if constexpr (sizeof...(Calls) > 0) return follow<kNumber + 1, L, Way, Takes, Calls...>(way, found, taken + 1, k, c);
  else return found[kNumber];
}

}  // inline namespace KW_ISA
}  // namespace kernweave
