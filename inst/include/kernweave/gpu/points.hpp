// The interpreter's kernels of what does not depend on pairs: parameters, rows, columns, point by point.
#pragma once
#include "interpreter.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// One point. Its values lie in `memory`, component by component, `stride` apart.
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
      case From::literal: return to->fill(L(static_cast<double>(__int_as_float(o.at))));
      case From::once: return to->fill(static_cast<const L*>(a_.head.once)[n]);
      case From::point: return to->fill(memory_[n * stride_]);
      case From::datum: return to->fill(read<L>(a_.data[o.at], point_, d * o.step));
      case From::parameter: return to->fill(read<L>(a_.data[o.at], 0, d * o.step));
      case From::counter: return to->fill(L(static_cast<double>(point_ + 1)));
      case From::number: return to->fill(L(a_.head.numbers[n]));
      default: return;
    }
  }
  __device__ bool across(Operand, Operand) const { return false; }
  __device__ void fetch_row(Operand, int, S*) const {}
  __device__ void fetch_tile(Operand, int, S*) const {}
  __device__ void store(int place, const S& value) const { memory_[place * stride_] = value.at[0]; }

  __device__ Read<L> reader(Operand o, int width, int) const {
    if (o.from == From::once) return {static_cast<const L*>(a_.head.once) + o.at, 1, width};
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
