// Reductions of arrays and scans: the request, and its operator as a type.
#pragma once
#include <string>
#include <vector>
#include "arrays/items.hpp"
#include "base/error.hpp"
#include "kernweave/arrays/operators.hpp"

namespace kernweave::arrays {

enum class Op { sum, whole_sum, prod, min, max, range, mean, any, all, argmin, argmax, logsumexp };

inline Op operator_named(const std::string& name) {
  constexpr const char* kNames[] = {"sum",  "whole_sum", "prod", "min",    "max",    "range",
                                    "mean", "any",       "all",  "argmin", "argmax", "logsumexp"};
  const auto* const at = std::find(std::begin(kNames), std::end(kNames), name);
  if (at != std::end(kNames)) return static_cast<Op>(at - kNames);
  fail(Fault::internal, "no operator `", name, "` of arrays");
}

struct Request {
  Op op;
  bool skip;    // items that are NaN do not count
  bool begins;  // with `init`, taken in before each segment's items
  double init;
};

template <class T>
struct Type {
  using Of = T;
};

// Calls f with the type of the operator.
template <bool kSkip, class F>
void with_operator(Op op, F f) {
  switch (op) {
    case Op::sum: return f(Type<operators::Sum<kSkip>>());
    case Op::whole_sum: return f(Type<operators::WholeSum<kSkip>>());
    case Op::prod: return f(Type<operators::Prod<kSkip>>());
    case Op::min: return f(Type<operators::Min<kSkip>>());
    case Op::max: return f(Type<operators::Max<kSkip>>());
    case Op::range: return f(Type<operators::Range<kSkip>>());
    case Op::mean: return f(Type<operators::Mean<kSkip>>());
    case Op::any: return f(Type<operators::Any<kSkip, false>>());
    case Op::all: return f(Type<operators::Any<kSkip, true>>());
    case Op::argmin: return f(Type<operators::ArgMin<1>>());
    case Op::argmax: return f(Type<operators::ArgMin<-1>>());
    case Op::logsumexp: return f(Type<operators::LogSumExp<kSkip>>());
  }
}

inline int results_of(Op op) { return op == Op::range ? 2 : 1; }

}  // namespace kernweave::arrays
