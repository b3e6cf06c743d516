// Carries out instructions, the same ones in all threads of a block, for a strip of pairs or for one point, by the
// functions of ops.def. A scope knows the places of numbers (points below, interpreter_kernels.hpp). A scope has
//   kColumns, L                  columns of a strip, and the lane
//   fetch(operand, d, last, to)  component d of an operand
//   across(x, y)                 does x lie along the rows, and y in a tile? Then fetch_row and fetch_tile get them
//   store(place, value)          a number of each column
//   reader, writer, row_listed   for one column: components for an operation with its own loop; the gathered row
//   first(), step()              the components that this thread takes; is_first(): does it take single components?
//   term(instruction, last)      a term of an output
//   end_of_step()                stored numbers may be read from now on
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
  // Returns the strip at a place in memory, which is read and written 16 bytes at a time.
  __device__ __forceinline__ static Strip& at_place(L* place) { return *reinterpret_cast<Strip*>(place); }
  __device__ __forceinline__ static const Strip& at_place(const L* place) {
    return *reinterpret_cast<const Strip*>(place);
  }
};

// The cost of a row's value (cost_lane.hpp) above which a function is expensive. Expensive functions are called for one
// column after the other, so that their code exists once and other code keeps its registers.
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

// Folds all components, for arguments in the commonest places: the fold's row of the table is looked up once.
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

// Computes an operation with its own loop. Its list has the widths of both arguments, then the attributes.
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

// Returns the row of a variable to which a list of lookups leads, from rows along the lane axis and the sweep axis.
__device__ inline long long row_of_list(const Data* data, const int* list, long long lane, long long sweep) {
  const Data& first = data[list[kVariable]];
  long long at = list[kAlongLanes] ? lane : sweep;
  switch (static_cast<ReadFrom>(list[kFrom])) {
    case ReadFrom::counter: break;
    case ReadFrom::parameter: at = row_number(first, 0); break;
    case ReadFrom::matrix: at = row_number(first, lane + sweep * first.rows); break;
    case ReadFrom::matrix_turned: at = row_number(first, sweep + lane * first.rows); break;
    default: at = row_number(first, at);
  }
  for (int k = 0; k < list[kLookups]; ++k) at = row_number(data[list[kFirstLookup + k]], at);
  return at;
}

// --- points ---------------------------------------------------------------------------------------------------------
// The interpreter's kernels for values outside of pairs: parameters, rows and columns, point by point.

// The scope of one point. Its values lie in `memory`, component by component, `stride` apart.
template <class Number>
class PointScope {
 public:
  using L = Scalar<Number>;
  using S = Strip<L, 1>;
  static constexpr int kColumns = 1;

  __device__ PointScope(const Script& a, void* memory, long long stride, long long place, long long point,
                        bool together)
      : a_(a), memory_(static_cast<L*>(memory) + place), stride_(stride), point_(point), together_(together) {}

  __device__ void fetch(Operand o, int d, const S&, S* to) const {
    const long long n = o.at + static_cast<long long>(d) * o.step;
    switch (o.from) {
      case ReadFrom::literal: return to->fill(L(static_cast<double>(__int_as_float(o.at))));
      case ReadFrom::once: return to->fill(static_cast<const L*>(a_.head.once)[n]);
      case ReadFrom::point: return to->fill(memory_[n * stride_]);
      case ReadFrom::datum: return to->fill(read<L>(a_.data[o.at], point_, d * o.step));
      case ReadFrom::parameter: return to->fill(read<L>(a_.data[o.at], 0, d * o.step));
      case ReadFrom::counter: return to->fill(L(static_cast<double>(point_ + 1)));
      case ReadFrom::number: return to->fill(L(a_.head.numbers[n]));
      default: return;
    }
  }
  __device__ bool across(Operand, Operand) const { return false; }
  __device__ void fetch_row(Operand, int, S*) const {}
  __device__ void fetch_tile(Operand, int, S*) const {}
  __device__ void store(int place, const S& value) const { memory_[place * stride_] = value.at[0]; }

  __device__ Read<L> reader(Operand o, int width, int) const {
    if (o.from == ReadFrom::once) return {static_cast<const L*>(a_.head.once) + o.at, 1, width};
    return {memory_ + o.at * stride_, stride_, width};
  }
  __device__ Write<L> writer(int place, int) const { return {memory_ + place * stride_, stride_}; }
  __device__ long long row_listed(const int* list, int) const { return row_of_list(a_.data, list, point_, point_); }
  __device__ const Data& data(int variable) const { return a_.data[variable]; }
  __device__ const int* list(const Instruction& i) const { return a_.lists + i.list; }

  __device__ int first() const { return together_ ? threadIdx.x : 0; }
  __device__ int step() const { return together_ ? blockDim.x : 1; }
  __device__ bool is_first() const { return first() == 0; }
  __device__ void term(const Instruction&, const S&) const {}
  __device__ void end_of_step() const {
    if (together_) __syncthreads();
  }

 private:
  const Script& a_;
  L* memory_;
  long long stride_, point_;
  bool together_;  // do all threads of the block work on one point?
};

// The interpreter of a point, in one copy for the three kernels.
template <class Number>
__device__ __noinline__ void interpret_point(const Script& a, const Instruction* program, void* memory,
                                             long long stride, long long place, long long point, bool together) {
  const PointScope<Number> scope(a, memory, stride, place, point, together);
  Interpreter<PointScope<Number>>(scope).run(program);
}

template <class Number>
__device__ void script_once(const Script& a) {
  interpret_point<Number>(a, a.once, a.head.once, 1, 0, 0, true);
}

template <class Number>
__device__ void script_columns(const Script& a) {
  const long long place = own_point(a.head);
  if (place < a.head.to)
    interpret_point<Number>(a, a.columns, a.head.columns, a.column_stride, place, least(place, a.head.sweep - 1),
                            false);
}

template <class Number>
__device__ void script_rows(const Script& a) {
  const long long row = own_point(a.head);
  if (row < a.head.to) interpret_point<Number>(a, a.rows, a.head.rows, a.head.rows_held, row, row, false);
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
