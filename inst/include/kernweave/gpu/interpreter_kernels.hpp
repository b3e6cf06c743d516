// Kernels of the interpreter, with the names and launches of kernels compiled for a formula (sweep.hpp). A thread
// has one row, and a strip of columns at a time. Shared memory holds the pairs' instructions, a tile of columns, and
// for each thread the values of its strip and the states of its row.
#pragma once
#include "interpreter.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// The state of a reduction as a type, without its lane.
template <template <class> class State>
struct Family {
  template <class L>
  using Of = State<L>;
};

template <class F>
__device__ __forceinline__ void with_family(Red reduction, F f) {
  switch (reduction) {
#define REDUCTION(Name, ...) \
  case Red::Name: return f(Family<red::Name>());
#include "../reductions.def"
    case Red::count: return;
  }
}

// Writes a state's results, in the order rows (or pairs) x places x components. Results of lists go through `spare`,
// kResultBytes a place.
template <class State, class L>
__device__ void write_state(const State& state, L, const Target& to, long long place, int component, int places,
                            void* spare) {
  L value[1];
  Index index[1];
  Index* const indices = places > 1 ? static_cast<Index*>(spare) : index;
  L* const values = places > 1 ? reinterpret_cast<L*>(indices + places) : value;
  state.finish(values, indices);
  for (int p = 0; p < places; ++p) {
    const long long at = place + to.stride * (p + static_cast<long long>(places) * component);
    if (to.values) to.values[at] = static_cast<double>(values[p].v) * to.factor;
    if (to.numbers.any()) to.numbers.put(at, indices[p]);
  }
}

// Returns a state in the device's memory, whose storage lies behind it.
template <class State>
__device__ State& lying(void* states, const Outcome& o, long long number) {
  return *reinterpret_cast<State*>(static_cast<char*>(states) + number * o.bytes);
}
template <class State>
__device__ State& begin_lying(void* states, const Outcome& o, long long number) {
  State& state = lying<State>(states, o, number);
  state.init(&state + 1, o.places);
  return state;
}

// Writes a block's state for one row and component of an output: as a result, or as a state to be merged with states of
// other blocks.
template <class Total, class State, class M>
__device__ void leave_row(const Script& a, const State& state, M, int number, int w, const Patch& patch, long long row,
                          void* spare) {
  const Head& head = a.head;
  const Outcome& o = a.outcomes[number];
  const Target& to = a.targets[number];
  if (row >= head.lanes) return;
  if (head.splits == 1) write_state(state, M(), to, row, w, o.places, spare);
  else
    begin_lying<Total>(to.states, o,
                         ((patch.split - head.splits_from) * o.width + w) * head.rows_here + row - head.first_row)
        .merge(state, 0);
}

// Writes a block's state of an output that folds both axes: merges the states of the block's threads, and writes the
// result to the block's place.
template <class Total, class Merge>
__device__ void leave_total(const Script& a, int number, int w, const Patch& patch, Merge merge) {
  const Outcome& o = a.outcomes[number];
  const Target& to = a.targets[number];
  const int thread = threadIdx.x;
  const long long first = (static_cast<long long>(blockIdx.y) * gridDim.x + blockIdx.x) * blockDim.x * o.width + w;
  Total& own = begin_lying<Total>(to.states, o, first + thread * o.width);
  merge(&own);
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) own.merge(lying<Total>(to.states, o, first + (thread + half) * o.width), 0);
  }
  if (thread == 0)
    begin_lying<Total>(to.merged, o, (patch.split * a.head.blocks + patch.block) * o.width + w).merge(own, 0);
}

template <class Number>
class PairScope {
 public:
  using L = Scalar<Number>;
  static constexpr int kColumns = kStripOf<Number>;
  using S = Strip<L, kColumns>;
  using Double = Scalar<double>;

  __device__ PairScope(const Script& a, const L* tile, char* own, long long first)
      : a_(a),
        own_(own),
        tile_(tile),
        given_(first),
        row_(least(first, a.head.lanes - 1)),
        rows_(static_cast<const L*>(a.head.rows) + row_) {}

  // Moves on to the strip that begins at a column, of which the first `left` exist.
  __device__ void place(const L* tile, long long column, int left) {
    tile_ = tile;
    column_ = column;
    columns_ = static_cast<const L*>(a_.head.columns) + column;
    left_ = static_cast<int>(least(left, a_.strip));
  }

  // The commonest places come first.
  __device__ __forceinline__ void fetch(Operand o, int d, const S& last, S* to) const {
    if (o.from == ReadFrom::none) return;
    if (o.from == ReadFrom::tile) return fetch_tile(o, d, to);
    if (o.from == ReadFrom::strip) {
      *to = last;
      return;
    }
    const int n = o.at + d * o.step;
    switch (o.from) {
      case ReadFrom::literal: return to->fill(L(static_cast<double>(__int_as_float(o.at))));
      case ReadFrom::once: return to->fill(static_cast<const L*>(a_.head.once)[n]);
      case ReadFrom::row: return fetch_row(o, d, to);
      case ReadFrom::column: *to = S::at_place(columns_ + n * a_.column_stride); return;
      case ReadFrom::one_column: return to->fill(columns_[n * a_.column_stride]);
      case ReadFrom::own: *to = S::at_place(values() + n * kColumns); return;
      case ReadFrom::one_own: return to->fill(values()[n]);
      default: return fetch_pairs(o, to);
    }
  }
  __device__ bool across(Operand x, Operand y) const { return x.from == ReadFrom::row && y.from == ReadFrom::tile; }
  __device__ __forceinline__ void fetch_row(Operand o, int d, S* to) const {
    to->fill(rows_[(o.at + d * o.step) * a_.head.rows_held]);
  }
  __device__ __forceinline__ void fetch_tile(Operand o, int d, S* to) const {
    *to = S::at_place(tile_ + (o.at + d * o.step) * a_.tile);
  }

  __device__ __forceinline__ void store(int place, const S& value) const {
    if (a_.strip == 1) values()[place] = value.at[0];
    else S::at_place(values() + place * kColumns) = value;
  }

  __device__ Read<L> reader(Operand o, int width, int c) const {
    switch (o.from) {
      case ReadFrom::once: return {static_cast<const L*>(a_.head.once) + o.at, 1, width};
      case ReadFrom::row: return {rows_ + o.at * a_.head.rows_held, a_.head.rows_held, width};
      case ReadFrom::tile: return {tile_ + o.at * a_.tile + c, a_.tile, width};
      case ReadFrom::column: return {columns_ + o.at * a_.column_stride + c, a_.column_stride, width};
      case ReadFrom::one_column: return {columns_ + o.at * a_.column_stride, a_.column_stride, width};
      case ReadFrom::one_own: return {values() + o.at, 1, width};
      default: return {values() + o.at * kColumns + c, kColumns, width};
    }
  }
  __device__ Write<L> writer(int place, int c) const {
    if (a_.strip == 1) return {values() + place, 1};
    return {values() + place * kColumns + c, kColumns};
  }
  __device__ long long row_listed(const int* list, int c) const { return row_of_list(a_.data, list, row_, column(c)); }
  __device__ const Data& data(int variable) const { return a_.data[variable]; }
  __device__ const int* list(const Instruction& i) const { return a_.lists + i.list; }

  __device__ int first() const { return 0; }
  __device__ int step() const { return 1; }
  __device__ bool is_first() const { return true; }
  __device__ void end_of_step() const {}

  // Takes terms of an output: writes them if the output keeps pairs, else updates states.
  __device__ __forceinline__ void term(const Instruction& i, const S& last) const {
#pragma unroll 1
    for (int w = 0; w < i.width; ++w) {
      S value, weight;
      fetch(i.in[0], w, last, &value);
      fetch(i.in[1], w, last, &weight);
      with_family(static_cast<Red>(i.code), [&](auto family) {
        using State = typename decltype(family)::template Of<L>;
        if (i.use == Use::kept) write_pairs<State>(i.output, w, value, weight);
        else take<State>(i.out + w * i.list, i.use == Use::counted_over_pairs, value, weight);
      });
    }
  }

  __device__ void begin() const {
    each_state([&](auto family, const Outcome& o, char* at, int, int) {
      using Of = decltype(family);
      using Lane = typename Of::template Of<L>;
      Lane& lane = *reinterpret_cast<Lane*>(at);
      lane.init(at + o.storage, o.places);
      if constexpr (Lane::kAdds) row_state<Of>(o, at).init(nullptr, o.places);
    });
  }

  // Ends a tile: sums go over to float64.
  __device__ void flush() const {
    each_state([&](auto family, const Outcome& o, char* at, int, int) {
      using Of = decltype(family);
      using Lane = typename Of::template Of<L>;
      Lane& lane = *reinterpret_cast<Lane*>(at);
      if constexpr (Lane::kAdds) {
        row_state<Of>(o, at).merge(lane, 0);
        lane.restart();
      }
    });
  }

  // Leaves the states of the thread's row, when the block's split has been folded.
  __device__ void leave(const Patch& patch) const {
    each_state([&](auto family, const Outcome& o, char* at, int number, int w) {
      using Of = decltype(family);
      using Lane = typename Of::template Of<L>;
      if constexpr (Lane::kAdds) leave_state<Of>(row_state<Of>(o, at), Double(), o, number, w, patch);
      else leave_state<Of>(*reinterpret_cast<const Lane*>(at), L(), o, number, w, patch);
    });
  }

 private:
  __device__ L* values() const { return reinterpret_cast<L*>(own_); }
  // Returns the number of a column of the strip; for a column that does not exist, the number of the last column.
  __device__ long long column(int c) const { return column_ + least(c, left_ - 1); }

  __device__ void fetch_pairs(Operand o, S* to) const {
    const Data& from = a_.data[o.at];
    S found;
#pragma unroll 1
    for (int c = 0; c < kColumns; ++c)
      found.at[c] =
          read<L>(from, o.from == ReadFrom::matrix ? row_ + column(c) * from.rows : column(c) + row_ * from.rows, 0);
    *to = found;
  }

  template <class Of>
  __device__ auto& row_state(const Outcome& o, char* at) const {
    return *reinterpret_cast<typename Of::template Of<Double>*>(at + o.row);
  }

  template <class State>
  __device__ __forceinline__ void take(int at, bool total, const S& value, const S& weight) const {
    State* const stored = reinterpret_cast<State*>(own_ + at);
    State state = *stored;
    const auto value_of = [&](int c) { return value.at[c]; };
    const auto weight_of = [&](int c) { return weight.at[c]; };
    const auto index = [&](int c) { return total ? row_ + (column_ + c) * a_.head.lanes + 1 : column_ + c + 1; };
    if (left_ == kColumns) take_row<kColumns, true>(state, left_, value_of, weight_of, index);
    else take_row<kColumns, false>(state, left_, value_of, weight_of, index);
    *stored = state;
  }

  template <class State>
  __device__ void write_pairs(int output, int w, const S& value, const S& weight) const {
    const S values[2] = {value, weight};
#pragma unroll 1
    for (int c = 0; c < left_; ++c) {
      const Target& to = a_.targets[output];
      State state;
      state.init(nullptr, 1);
      state.step(values[0].at[c], values[1].at[c], row_ + (column_ + c) * a_.head.lanes + 1, true);
      write_state(state, L(), to, row_ + (column_ + c) * to.rows, w, 1, nullptr);
    }
  }

  template <class F>
  __device__ void each_state(F f) const {
    for (int number = 0; number < a_.outputs; ++number) {
      const Outcome& o = a_.outcomes[number];
      if (o.pairwise) continue;
      with_family(o.reduction, [&](auto family) {
        for (int w = 0; w < o.width; ++w) f(family, o, own_ + o.lane + w * o.stride, number, w);
      });
    }
  }

  template <class Of, class State, class M>
  __device__ void leave_state(const State& state, M, const Outcome& o, int number, int w, const Patch& patch) const {
    if (!o.total) return leave_row<typename Of::template Of<Double>>(a_, state, M(), number, w, patch, given_, own_);
    leave_total<typename Of::template Of<Double>>(a_, number, w, patch, [&](auto* total) {
      if (given_ < a_.head.lanes) total->merge(state, 0);
    });
  }

  const Script& a_;
  char* own_;
  const L* tile_;
  const long long given_, row_;
  const L* rows_;
  const L* columns_ = nullptr;
  long long column_ = 0;
  int left_ = 0;
};

// Copies numbers of a tile's columns that pairs read to shared memory, in whole strips, by all threads of a block.
template <int kStrip, class L>
__device__ void stage_columns(const Script& a, long long first, int count, L* to) {
  const int strips = static_cast<int>(even(count, kStrip)) / kStrip;
  for (int n = 0; n < a.column_numbers; ++n) {
    const L* const from = static_cast<const L*>(a.head.columns) + n * a.column_stride + first;
    for (int s = threadIdx.x; s < strips; s += blockDim.x)
      Strip<L, kStrip>::at_place(to + n * a.tile + s * kStrip) = Strip<L, kStrip>::at_place(from + s * kStrip);
  }
}

template <class Number>
__device__ void script_sweep(const Script& a) {
  using L = Scalar<Number>;
  extern __shared__ uint4 shared[];
  constexpr int kChunks = static_cast<int>(sizeof(Instruction) / sizeof(uint4));
  for (int n = threadIdx.x; n < a.instructions * kChunks; n += blockDim.x)
    shared[n] = reinterpret_cast<const uint4*>(a.pairs)[n];
  const auto* const program = reinterpret_cast<const Instruction*>(shared);
  L* const tile = reinterpret_cast<L*>(shared + a.instructions * kChunks);
  char* const own = reinterpret_cast<char*>(tile + (a.staged ? a.tile * a.column_numbers : 0)) + threadIdx.x * a.own;
  const Patch patch(a.head);
  PairScope<Number> scope(a, tile, own, patch.block * blockDim.x + threadIdx.x);
  scope.begin();
  __syncthreads();
  for (long long at = patch.begin; at < patch.end; at += a.tile) {
    const int count = static_cast<int>(least(a.tile, patch.end - at));
    if (a.staged) {
      __syncthreads();
      stage_columns<kStripOf<Number>>(a, at, count, tile);
      __syncthreads();
    }
    for (int t = 0; t < count; t += a.strip) {
      scope.place(tile + t, at + t, count - t);
      Interpreter<PairScope<Number>>(scope).run(program);
    }
    scope.flush();
  }
  scope.leave(patch);
}

// Merges the states of all splits for one row and component, after the states of earlier windows, and reuses their
// memory.
__device__ inline void script_merge(const Script& a) {
  const Head& head = a.head;
  const long long row = own_point(head), here = row - head.first_row;
  if (row >= head.to) return;
  const bool carried = head.continues || head.goes_on;
  for (int number = 0; number < a.outputs; ++number) {
    const Outcome& o = a.outcomes[number];
    if (o.pairwise || o.total) continue;
    const Target& to = a.targets[number];
    with_family(o.reduction, [&](auto family) {
      using State = typename decltype(family)::template Of<Scalar<double>>;
      for (int w = 0; w < o.width; ++w) {
        const auto state_of = [&](long long split) -> State& {
          return lying<State>(to.states, o, (split * o.width + w) * head.rows_here + here);
        };
        const long long place = w * head.rows_held + row;
        State& total = !carried         ? state_of(0)
                       : head.continues ? lying<State>(to.merged, o, place)
                                        : begin_lying<State>(to.merged, o, place);
        for (long long s = carried ? 0 : 1; s < head.splits_here; ++s) total.merge(state_of(s), 0);
        if (!head.goes_on) write_state(total, Scalar<double>(), to, row, w, o.places, &state_of(carried ? 0 : 1));
      }
    });
  }
}

// Kernel of the totals over both axes, one block: each thread merges some blocks' states in order, then the states of
// all threads are merged, in memory that is reused.
__device__ inline void script_total(const Script& a) {
  const long long blocks = a.head.blocks * a.head.splits;
  const long long share = blocks < 1 ? 1 : (blocks + blockDim.x - 1) / blockDim.x;
  for (int number = 0; number < a.outputs; ++number) {
    const Outcome& o = a.outcomes[number];
    if (!o.total) continue;
    const Target& to = a.targets[number];
    with_family(o.reduction, [&](auto family) {
      using State = typename decltype(family)::template Of<Scalar<double>>;
      for (int w = 0; w < o.width; ++w) {
        const auto state_of = [&](long long block) -> State& {
          return lying<State>(to.merged, o, block * o.width + w);
        };
        const long long first = threadIdx.x * share;
        if (blocks < 1 && threadIdx.x == 0) begin_lying<State>(to.merged, o, w);
        for (long long b = first + 1; b < least(blocks, first + share); ++b) state_of(first).merge(state_of(b), 0);
        for (int half = blockDim.x / 2; half > 0; half /= 2) {
          __syncthreads();
          if (threadIdx.x < half && first + half * share < blocks)
            state_of(first).merge(state_of(first + half * share), 0);
        }
        if (threadIdx.x == 0) write_state(state_of(0), Scalar<double>(), to, 0, w, o.places, to.states);
      }
    });
  }
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
