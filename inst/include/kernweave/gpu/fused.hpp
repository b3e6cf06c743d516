// Fused kernels for pairs of a common kind (fused.def), which read no instruction between two strips. A thread has some
// rows and takes some columns at a time, so that each number read serves several pairs. With several weights, a block
// has one of them. All work outside of pairs is done by the interpreter's kernels (interpreter_kernels.hpp); the
// instructions of the script give the places of numbers.
#pragma once
#include "../calls.hpp"
#include "interpreter_kernels.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// The arguments of a call that are not results of calls: a number for all pairs, for a row, for a column.
template <class L, int kRows, int kColumns>
struct Taken {
  L once, rows[kRows], columns[kColumns];

  template <int kArgument>
  __device__ __forceinline__ L get(const L* found, int k, int c) const {
    if constexpr (kArgument >= 0) return found[kArgument];
    else if constexpr (kArgument == kOfRow) return rows[k];
    else if constexpr (kArgument == kOfColumn) return columns[c];
    else return once;
  }
};

// The state of a row in the pass's precision and, for sums, the float64 state into which it is merged after every tile.
template <template <class> class State, class L, bool kAdds = State<L>::kAdds>
struct RowState {
  using Found = Scalar<double>;
  State<L> lane;
  State<Found> row;
  __device__ void begin(void*, int places) {
    lane.init(nullptr, places);
    row.init(nullptr, places);
  }
  __device__ void flush() {
    row.merge(lane, 0);
    lane.restart();
  }
  __device__ const State<Found>& found() const { return row; }
};
template <template <class> class State, class L>
struct RowState<State, L, false> {
  using Found = L;
  State<L> lane;
  __device__ void begin(void* storage, int places) { lane.init(storage, places); }
  __device__ void flush() {}
  __device__ const State<Found>& found() const { return lane; }
};

template <class Number, Op kFold, template <class> class State, class Calls>
class FusedPairs;

template <class Number, Op kFold, template <class> class State, class... Calls>
class FusedPairs<Number, kFold, State, Chain<Calls...>> {
 public:
  using L = Scalar<Number>;
  static constexpr FusedShape kShape = fused_shape(State<L>::storage(1) > 0, static_cast<int>(sizeof(Number)));
  static constexpr int kRows = kShape.rows, kColumns = kShape.columns, kCalls = static_cast<int>(sizeof...(Calls));
  // Components at a time: one in float32, two in float64, as measured (design/013-gpu-ways.md).
  static constexpr int kUnroll = sizeof(Number) == 4 ? 1 : 2;

  __device__ FusedPairs(const Script& a, char* own, long long first)
      : a_(a),
        own_(own),
        first_(first),
        row_at_(a.pairs[0].in[1].at),
        column_at_(a.pairs[0].in[2].at),
        width_(a.pairs[0].width),
        total_(a.outcomes[0].total != 0) {
    const Outcome& o = a.outcomes[0];
    const long long first_here = least(first, a.head.lanes - 1);
    points_ = static_cast<const L*>(a.head.rows) + first_here;
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      rows_[k] = static_cast<int>(least(row(k), a.head.lanes - 1) - first_here);
      states_[k].begin(own + o.lane + k * o.stride, o.places);
    }
    read_arguments<0, Calls...>();
    Operand weight = a.pairs[1 + kCalls].in[1];
    if (weight.from != ReadFrom::literal) weight.at += weight_number() * weight.step;
    weight_at_ = weight.from == ReadFrom::tile ? weight.at : -1;
    weight_ = weight_at_ < 0 ? number(weight) : L(1.0);
  }

  // Takes a strip, of which the first `left` columns exist; components are `stride` apart.
  __device__ __forceinline__ void strip(const L* columns, int stride, long long column, int left) {
    L found[kRows][kColumns], weights[kColumns];
    fold(columns + column_at_ * stride, stride, found);
    read_columns_of<0, Calls...>(columns, stride);
    if constexpr (kCalls > 0) call(found);
    if (weight_at_ >= 0) load<kColumns>(columns + weight_at_ * stride, weights);
#pragma unroll
    for (int c = 0; c < kColumns; ++c) weights[c] = weight_at_ >= 0 ? weights[c] : weight_;
    if (left >= kColumns) take<true>(found, weights, column, left);
    else take<false>(found, weights, column, left);
  }

  __device__ void flush() {
#pragma unroll
    for (int k = 0; k < kRows; ++k) states_[k].flush();
  }

  __device__ void leave(const Patch& patch) {
    if (total_) {
      leave_total<Total>(a_, 0, weight_number(), patch, [&](Total* total) {
#pragma unroll
        for (int k = 0; k < kRows; ++k)
          if (row(k) < a_.head.lanes) total->merge(states_[k].found(), 0);
      });
    } else {
#pragma unroll
      for (int k = 0; k < kRows; ++k)
        leave_row<Total>(a_, states_[k].found(), typename RowState<State, L>::Found(), 0, weight_number(), patch,
                           row(k), own_);
    }
  }

 private:
  using Total = State<Scalar<double>>;

  __device__ static int weight_number() { return static_cast<int>(blockIdx.z); }
  __device__ long long row(int k) const { return first_ + k * static_cast<long long>(blockDim.x); }
  __device__ L number(Operand o) const {
    return o.from == ReadFrom::literal ? L(static_cast<double>(__int_as_float(o.at)))
                                   : static_cast<const L*>(a_.head.once)[o.at];
  }
  // Returns a call's argument that lies in `from`. The planner may have swapped the call's two arguments.
  __device__ Operand argument(int call, ReadFrom from) const {
    const Instruction& i = a_.pairs[1 + call];
    return i.in[i.in[0].from == from ? 0 : 1];
  }

  template <int kCall, class Call, class... Rest>
  __device__ void read_arguments() {
    if constexpr (Call::template kTakes<kOnce>) {
      const Instruction& i = a_.pairs[1 + kCall];
      const bool first = i.in[0].from == ReadFrom::once || i.in[0].from == ReadFrom::literal;
      taken_[kCall].once = number(i.in[first ? 0 : 1]);
    }
    if constexpr (Call::template kTakes<kOfRow>) {
      const long long at = argument(kCall, ReadFrom::row).at * a_.head.rows_held;
#pragma unroll
      for (int k = 0; k < kRows; ++k) taken_[kCall].rows[k] = points_[at + rows_[k]];
    }
    if constexpr (Call::template kTakes<kOfColumn>) places_[kCall] = argument(kCall, ReadFrom::tile).at;
    if constexpr (sizeof...(Rest) > 0) read_arguments<kCall + 1, Rest...>();
  }
  template <int kCall>
  __device__ void read_arguments() {}

  template <int kCall, class Call, class... Rest>
  __device__ __forceinline__ void read_columns_of(const L* columns, int stride) {
    if constexpr (Call::template kTakes<kOfColumn>)
      load<kColumns>(columns + places_[kCall] * stride, taken_[kCall].columns);
    if constexpr (sizeof...(Rest) > 0) read_columns_of<kCall + 1, Rest...>(columns, stride);
  }
  template <int kCall>
  __device__ __forceinline__ void read_columns_of(const L*, int) {}

  __device__ __forceinline__ void fold(const L* columns, int stride, L (&found)[kRows][kColumns]) const {
#pragma unroll
    for (int k = 0; k < kRows; ++k)
#pragma unroll
      for (int c = 0; c < kColumns; ++c) found[k][c] = Called<kFold>::template start<L>();
    const L* points = points_ + row_at_ * a_.head.rows_held;
#pragma unroll kUnroll
    for (int d = 0; d < width_; ++d, points += a_.head.rows_held, columns += stride) {
      L x[kRows], y[kColumns];
#pragma unroll
      for (int k = 0; k < kRows; ++k) x[k] = points[rows_[k]];
      load<kColumns>(columns, y);
#pragma unroll
      for (int k = 0; k < kRows; ++k)
#pragma unroll
        for (int c = 0; c < kColumns; ++c) found[k][c] = Called<kFold>::next(found[k][c], x[k], y[c]);
    }
  }

  __device__ __forceinline__ void call(L (&found)[kRows][kColumns]) const {
    AsWritten way;
#pragma unroll
    for (int k = 0; k < kRows; ++k)
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        L values[1 + kCalls];
        values[0] = found[k][c];
        found[k][c] = follow<1, L, AsWritten, Taken<L, kRows, kColumns>, Calls...>(&way, values, taken_, k, c);
      }
  }

  template <bool kFull>
  __device__ __forceinline__ void take(const L (&found)[kRows][kColumns], const L (&weights)[kColumns],
                                       long long column, int left) {
#pragma unroll
    for (int k = 0; k < kRows; ++k)
      take_row<kColumns, kFull>(
          states_[k].lane, left, [&](int c) { return found[k][c]; }, [&](int c) { return weights[c]; },
          [&](int c) { return total_ ? row(k) + (column + c) * a_.head.lanes + 1 : column + c + 1; });
  }

  const Script& a_;
  char* const own_;
  const long long first_;
  const int row_at_, column_at_, width_;  // places and width of the fold's two arguments
  const bool total_;
  const L* points_;  // the first of the thread's rows
  int rows_[kRows];  // offsets of the thread's rows from the first
  int weight_at_;    // -1: one weight for all
  L weight_;
  Taken<L, kRows, kColumns> taken_[kCalls + 1];
  int places_[kCalls + 1];  // places of the calls' arguments in columns
  RowState<State, L> states_[kRows];
};

// The kernel. Tiles always go through shared memory, with the storage of lists behind them. Blocks are numbered so that
// blocks that run at the same time have few rows and all columns: wide rows stay in the second-level cache.
template <class Number, Op kFold, template <class> class State, class Calls>
__device__ __forceinline__ void fused_sweep(const Script& a) {
  using Pairs = FusedPairs<Number, kFold, State, Calls>;
  using L = typename Pairs::L;
  extern __shared__ uint4 shared[];
  L* const tile = reinterpret_cast<L*>(shared);
  const long long number = static_cast<long long>(blockIdx.y) * gridDim.x + blockIdx.x;
  const Patch patch(a.head, number / gridDim.y, number % gridDim.y);
  Pairs pairs(a, reinterpret_cast<char*>(tile + a.tile * a.column_numbers) + threadIdx.x * a.own,
              patch.block * (blockDim.x * Pairs::kRows) + threadIdx.x);
  for (long long at = patch.begin; at < patch.end; at += a.tile) {
    const int count = opaque(static_cast<int>(least(a.tile, patch.end - at)));
    __syncthreads();
    stage_columns<Pairs::kColumns>(a, at, count, tile);
    __syncthreads();
    for (int t = 0; t < count; t += Pairs::kColumns) pairs.strip(tile + t, a.tile, at + t, count - t);
    pairs.flush();
  }
  pairs.leave(patch);
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
