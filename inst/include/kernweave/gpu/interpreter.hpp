// Follows instructions, all threads of a block the same ones: what they do is the rows' functions, for a strip of pairs
// or for one point. Where numbers lie is the scope's matter (points.hpp, interpreter_kernels.hpp). A scope has
//   kColumns, L                  columns of a strip, and the lane
//   fetch(operand, d, last, to)  component d of an operand
//   across(x, y)                 has x its place along the rows, y in a tile? Then fetch_row and fetch_tile get them
//   store(place, value)          a number of each column
//   reader, writer, row_listed   of one column: components for an operation with its own loop; the row that is gathered
//   first(), step()              the components that this thread takes; is_first(): does it take what has only one?
//   term(instruction, last)      a term of an output
//   end_of_step()                what has been stored is to be read
#pragma once
#include "../cost_lane.hpp"
#include "script.hpp"
#include "sweep.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

template <class Lane, int kCount>
struct Strip {
  using L = Lane;
  static constexpr int kColumns = kCount;
  alignas(kCount > 1 ? 16 : sizeof(Lane)) L at[kCount];

  template <class F>
  __device__ __forceinline__ void set(F f) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) at[c] = f(c);
  }
  __device__ __forceinline__ void fill(L value) {
    set([&](int) { return value; });
  }
  // The strip at a place in memory: it is read and written 16 bytes at a time.
  __device__ __forceinline__ static Strip& at_place(L* place) { return *reinterpret_cast<Strip*>(place); }
  __device__ __forceinline__ static const Strip& at_place(const L* place) {
    return *reinterpret_cast<const Strip*>(place);
  }
};

// Cost of a row's value (cost_lane.hpp) from which on it is dear. Dear functions are called for one column after the
// other: their code is there once, and takes no registers from the rest.
constexpr int kDear = 30;
#define UNARY(Name, ...) inline constexpr bool dear_##Name = op::Name::eval(CostLane(0.0)).cost > kDear;
#define BINARY(Name, ...) inline constexpr bool dear_##Name = op::Name::eval(CostLane(0.0), CostLane(0.0)).cost > kDear;
#define TERNARY(Name, ...) \
  inline constexpr bool dear_##Name = op::Name::eval(CostLane(0.0), CostLane(0.0), CostLane(0.0)).cost > kDear;
#include "../ops.def"

template <bool kIsDear, class S, class F>
__device__ __forceinline__ void set_each(const S& x, const S& y, const S& z, S* out, F f) {
  if constexpr (kIsDear && S::kColumns > 1) {
    S in[3] = {x, y, z}, found;
#pragma unroll 1
    for (int c = 0; c < S::kColumns; ++c) found.at[c] = f(in[0].at[c], in[1].at[c], in[2].at[c]);
    *out = found;
  } else {
    out->set([&](int c) { return f(x.at[c], y.at[c], z.at[c]); });
  }
}

template <class S>
__device__ __forceinline__ void element(Op code, const S& x, const S& y, const S& z, S* out) {
  using L = typename S::L;
  switch (code) {
#define UNARY(Name, ...) \
  case Op::Name: return set_each<dear_##Name>(x, y, z, out, [](L a, L, L) { return op::Name::eval(a); });
#define BINARY(Name, ...) \
  case Op::Name: return set_each<dear_##Name>(x, y, z, out, [](L a, L b, L) { return op::Name::eval(a, b); });
#define TERNARY(Name, ...) \
  case Op::Name: return set_each<dear_##Name>(x, y, z, out, [](L a, L b, L c) { return op::Name::eval(a, b, c); });
#include "../ops.def"
    default: *out = x;
  }
}

template <class S>
__device__ __forceinline__ void next_of_fold(Op code, const S& x, const S& y, S* total) {
  switch (code) {
#define FOLD1(Name, ...) \
  case Op::Name: return total->set([&](int c) { return op::Name::next(total->at[c], x.at[c]); });
#define FOLD2(Name, ...) \
  case Op::Name: return total->set([&](int c) { return op::Name::next(total->at[c], x.at[c], y.at[c]); });
#include "../ops.def"
    default: return;
  }
}

// All components of a fold whose arguments lie where most do, so that its row of the table is looked up once.
template <class S, class Fetch>
__device__ __forceinline__ void whole_fold(Op code, int width, S* total, Fetch fetch) {
  S x, y;
  switch (code) {
#define FOLD2(Name, ...) \
  case Op::Name: \
    for (int d = 0; d < width; ++d) { \
      fetch(d, &x, &y); \
      total->set([&](int c) { return op::Name::next(total->at[c], x.at[c], y.at[c]); }); \
    } \
    return;
#include "../ops.def"
    default: return;
  }
}

// An operation with its own loop. Its list has the widths of both arguments, then the attributes.
template <class Scope>
__device__ __forceinline__ void own_loop(const Scope& scope, const Instruction& i) {
  const int* const list = scope.list(i);
#pragma unroll 1
  for (int c = 0; c < Scope::kColumns; ++c) {
    const auto x = [&] { return scope.reader(i.in[0], list[0], c); };
    const auto y = [&] { return scope.reader(i.in[1], list[1], c); };
    const auto out = scope.writer(i.out, c);
    switch (static_cast<Op>(i.code)) {
#define LOOP1(Name, ...) \
  case Op::Name: op::Name::loop(x(), out, i.width, list + 2); break;
#define LOOP2(Name, ...) \
  case Op::Name: op::Name::loop(x(), y(), out, i.width, list + 2); break;
#include "../ops.def"
      default: return;
    }
  }
}

// The interpreter of one thread.
template <class Scope>
class Interpreter {
 public:
  using L = typename Scope::L;
  using S = Strip<L, Scope::kColumns>;

  __device__ __forceinline__ explicit Interpreter(const Scope& scope) : scope_(scope) {}

  __device__ __forceinline__ void run(const Instruction* at) {
    const Instruction* again = at;
    component_ = 0;
#pragma unroll 1
    for (;; ++at) {
      const Instruction i = *at;
      // The commonest kinds come first.
      if (i.kind == Kind::element) {
        each_component(i);
        scope_.end_of_step();
        continue;
      }
      switch (i.kind) {
        case Kind::end: return;
        case Kind::begin:
          again = at;
          component_ = 0;
          continue;
        case Kind::next:
          if (++component_ < i.width) at = again;
          else component_ = 0;
          continue;
        case Kind::element: continue;
        case Kind::fold:
          if (scope_.is_first()) fold(i);
          break;
        case Kind::loop:
          if (scope_.is_first()) own_loop(scope_, i);
          break;
        case Kind::gather: gather(i); break;
        case Kind::term: scope_.term(i, last_); continue;
      }
      scope_.end_of_step();
    }
  }

 private:
  __device__ __forceinline__ void each_component(const Instruction& i) {
    S found;
#pragma unroll 1
    for (int d = scope_.first(); d < i.width; d += scope_.step()) {
      S x, y, z;
      scope_.fetch(i.in[0], component_ + d, last_, &x);
      scope_.fetch(i.in[1], component_ + d, last_, &y);
      scope_.fetch(i.in[2], component_ + d, last_, &z);
      element(static_cast<Op>(i.code), x, y, z, &found);
      if (i.use == Use::stored) scope_.store(i.out + d, found);
    }
    last_ = found;
  }

  __device__ __forceinline__ void fold(const Instruction& i) {
    S total;
    scope_.fetch(i.in[0], 0, last_, &total);
    const Op code = static_cast<Op>(i.code);
    if (scope_.across(i.in[1], i.in[2])) {
      whole_fold(code, i.width, &total, [&](int d, S* x, S* y) {
        scope_.fetch_row(i.in[1], component_ + d, x);
        scope_.fetch_tile(i.in[2], component_ + d, y);
      });
    } else {
#pragma unroll 1
      for (int d = 0; d < i.width; ++d) {
        S x, y;
        scope_.fetch(i.in[1], component_ + d, last_, &x);
        scope_.fetch(i.in[2], component_ + d, last_, &y);
        next_of_fold(code, x, y, &total);
      }
    }
    last_ = total;
    if (i.use == Use::stored) scope_.store(i.out, last_);
  }

  __device__ __forceinline__ void gather(const Instruction& i) {
    S found;
#pragma unroll 1
    for (int d = scope_.first(); d < i.width; d += scope_.step()) {
#pragma unroll 1
      for (int c = 0; c < Scope::kColumns; ++c)
        found.at[c] = read<L>(scope_.data(i.in[0].at), scope_.row_listed(scope_.list(i), c), d);
      if (i.use == Use::stored) scope_.store(i.out + d, found);
    }
    last_ = found;
  }

  const Scope& scope_;
  S last_;
  int component_ = 0;
};

// The row of a variable that a list of lookups leads to, from a row along the lane axis and one along the sweep axis.
__device__ inline long long row_of_list(const Data* data, const int* list, long long lane, long long sweep) {
  const Data& first = data[list[kVariable]];
  long long at = list[kAlongLanes] ? lane : sweep;
  switch (static_cast<From>(list[kFrom])) {
    case From::counter: break;
    case From::parameter: at = row_number(first, 0); break;
    case From::matrix: at = row_number(first, lane + sweep * first.rows); break;
    case From::matrix_turned: at = row_number(first, sweep + lane * first.rows); break;
    default: at = row_number(first, at);
  }
  for (int k = 0; k < list[kLookups]; ++k) at = row_number(data[list[kFirstLookup + k]], at);
  return at;
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
