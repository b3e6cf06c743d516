// Reductions of arrays, as a whole or segment by segment, and scans: the request, and what carries it out.
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
  int k = 0;
  for (const char* known : kNames) {
    if (name == known) return static_cast<Op>(k);
    ++k;
  }
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

// Writes, column by column, the operator's results, those of all segments one after the other. `offsets` has a number
// more than there are segments.
void reduce(const Request& request, const std::vector<Items>& columns, const Whole& offsets, const Workers& workers,
            double* out);

// Reduces items that lie in any order: `codes` are the numbers of their segments, from 1.
void reduce_groups(const Request& request, const std::vector<Items>& columns, const int* codes, const Whole& offsets,
                   const Workers& workers, double* out);

// --- scan.cpp ------------------------------------------------------------------------------------------------------
// Running reductions: of each item, what the operator makes of all items of its segment up to it.

// The target of results, as many as items: integers, `missing` for NaN and too large results, or doubles.
struct Running {
  int* integers = nullptr;
  double* doubles = nullptr;
  int missing = 0;
};

// Scans segments; with `exclusive`, up to the item before. Each result lies where its item lies. Tells of overflow.
bool scan(const Request& request, bool exclusive, const Items& items, const Whole& offsets, const Workers& workers,
          const Running& out);

}  // namespace kernweave::arrays
