// The kernels of a pass, for a formula in the form of a struct `F` (src/cuda/write_source.cpp):
//   once      values that are the same for all pairs
//   columns   values of the sweep axis alone, point by point
//   rows      values of the lane axis alone that are too wide for registers: component by component, or point by point
//             for nearest points (nearest.hpp)
//   sweep     the pairs: a thread has some rows, a block a split of the sweep axis, tile by tile
//   merge     states of the same rows from several blocks, in order; if splits are many, first the states of each group
//   total     states of all blocks, if both axes are folded
#pragma once
#include "../ops.hpp"
#include "fold.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// The number of an output within the pass, and whether its rows are folded too.
template <int kNumberOf, bool kTotalOf>
struct Place {
  static constexpr int kNumber = kNumberOf;
  static constexpr bool kTotal = kTotalOf;
};
template <class F>
struct Type {
  using Fold = F;
};

__device__ inline long long least(long long a, long long b) { return a < b ? a : b; }
__device__ inline long long even(long long count, int step) { return (count + step - 1) / step * step; }

// Returns the point of a thread, in a launch that has a thread for each point.
__device__ inline long long own_point(const Head& head) {
  return head.from + static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}

// The pairs of one block of a launch: a block of rows, and a split of the sweep axis.
struct Patch {
  long long block, split, begin, end;
  __device__ explicit Patch(const Head& head) : Patch(head, blockIdx.x, blockIdx.y) {}
  __device__ Patch(const Head& head, long long block_here, long long split_here)
      : block(head.first_block + block_here),
        split(head.first_split + split_here),
        begin(split * head.split),
        end(least(head.sweep, begin + head.split)) {}
};

// Reads a number of the user's data, as the formula's lane.
template <class L>
__device__ inline L read(const Data& data, long long row, int component) {
  const double number = __ldg(data.at + row + component * data.rows);
  return L(data.centre ? number - data.centre[component] : number);
}
__device__ inline long long row_number(const Data& data, long long row) {
  return static_cast<long long>(data.at[row]) - 1;
}

// Sixteen bytes of numbers. load() and store() move kCount numbers, 16 bytes at a time.
template <class L>
struct alignas(16) Chunk {
  static constexpr int kNumbers = 16 / sizeof(L);
  L at[kNumbers];
};
template <int kCount, class L>
__device__ __forceinline__ void load(const L* from, L* to) {
#pragma unroll
  for (int q = 0; q < kCount / Chunk<L>::kNumbers; ++q) {
    const Chunk<L> chunk = reinterpret_cast<const Chunk<L>*>(from)[q];
#pragma unroll
    for (int k = 0; k < Chunk<L>::kNumbers; ++k) to[q * Chunk<L>::kNumbers + k] = chunk.at[k];
  }
}
template <int kCount, class L>
__device__ __forceinline__ void store(const L* from, L* to) {
#pragma unroll
  for (int q = 0; q < kCount / Chunk<L>::kNumbers; ++q) {
    Chunk<L> chunk;
#pragma unroll
    for (int k = 0; k < Chunk<L>::kNumbers; ++k) chunk.at[k] = from[q * Chunk<L>::kNumbers + k];
    reinterpret_cast<Chunk<L>*>(to)[q] = chunk;
  }
}

// The most bytes of a column that a thread holds in registers, to store them 16 at a time.
inline constexpr int kMostHeld = 512;

// Kernel of the columns. The last point is repeated to pad the last strip, so that no strip tests which of its columns
// exist before its values have been computed.
template <class F>
__device__ void columns(const typename F::Arguments& a) {
  const long long place = own_point(a.head);
  if (place >= a.head.to) return;
  using L = typename F::L;
  auto* const to = static_cast<L*>(a.head.columns) + place * F::kColumnNumbers;
  constexpr bool kHeld = F::kColumnNumbers > 0 && F::kColumnNumbers * sizeof(L) <= kMostHeld;
  L held[kHeld ? F::kColumnNumbers : 1];
  F::column(a, least(place, a.head.sweep - 1), [&](int n, L value) {
    if (n < F::kColumnNumbers) (kHeld ? held : to)[n] = value;
  });
  if constexpr (kHeld) store<F::kColumnNumbers>(held, to);
}

template <class F>
__device__ void rows(const typename F::Arguments& a) {
  const long long point = own_point(a.head);
  if (point >= a.head.to) return;
  const long long stride = F::kNearest ? 1 : a.head.rows_held;
  auto* to = static_cast<typename F::L*>(a.head.rows) + point * (F::kNearest ? F::kRowTotal : 1);
  F::row(a, point, [&](int n, typename F::L value) {
    if (n < F::kRowTotal) to[n * stride] = value;
  });
}

// The rows of one thread: all values that do not depend on columns.
template <class F>
struct Rows {
  using L = typename F::L;
  long long number[F::kRows];
  L at[F::kRows][F::kRowNumbers];
  L once[F::kOnceNumbers];  // values that are the same for all pairs, as many as fit registers
  typename F::Tables tables;

  // Reads the thread's rows. For a row beyond the last row, the last row is read again.
  __device__ void read(const typename F::Arguments& a, long long first, long long end) {
#pragma unroll
    for (int n = 0; n < F::kOnceNumbers; ++n) once[n] = static_cast<const L*>(a.head.once)[n];
    tables.read(static_cast<const L*>(a.head.once));
#pragma unroll
    for (int k = 0; k < F::kRows; ++k) {
      number[k] = least(first + k * F::kRowStride, end - 1);
      if constexpr (F::kWideRows) {
#pragma unroll
        for (int n = 0; n < F::kRowNumbers; ++n) at[k][n] = wide(a, k, n);
      } else {
        F::row(a, number[k], [&](int n, L value) { at[k][n] = value; });
      }
    }
  }
  __device__ L wide(const typename F::Arguments& a, int k, int n) const {
    return static_cast<const L*>(a.head.rows)[n * a.head.rows_held + number[k]];
  }
};

// Copies a tile, by all threads of the block.
template <class F>
__device__ void stage(const typename F::L* from, int count, typename F::L* to) {
  const int chunks = count * F::kColumnNumbers * static_cast<int>(sizeof(typename F::L)) / 16;
  for (int n = threadIdx.x; n < chunks; n += F::kThreads)
    reinterpret_cast<uint4*>(to)[n] = reinterpret_cast<const uint4*>(from)[n];
}

// Merges the states of a block's threads, `kWidth` each, into the states of the first thread.
template <int kThreads, int kWidth, class Row>
__device__ void fold_threads(Row* states) {
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    for (int w = 0; w < kWidth; ++w)
      states[threadIdx.x * kWidth + w].state.merge(states[(threadIdx.x + half) * kWidth + w].state, 0);
  }
}

// Folds both axes: merges the states of a thread's rows, then of the block's threads, in memory.
template <class Fold, int kThreads, int kRows>
__device__ void fold_block(const Fold (&folds)[kRows], int present, typename Fold::Row* states,
                           typename Fold::Row* to) {
  for (int w = 0; w < Fold::kWidth; ++w) {
    typename Fold::Row* own = states + threadIdx.x * Fold::kWidth + w;
    own->init();
#pragma unroll
    for (int k = 0; k < kRows; ++k)
      if (k < present) folds[k].merge_into(own, w);
  }
  fold_threads<kThreads, Fold::kWidth>(states);
  if (threadIdx.x != 0) return;
  for (int w = 0; w < Fold::kWidth; ++w) to[w].copy(states[w]);
}

// Writes a state of one row and component: as a result, or as a state to be merged with states of other blocks.
template <class F, class Fold>
__device__ void put_state(const typename F::Arguments& a, const Target& to, const typename Fold::Row& own,
                          long long row, int w, long long split, int part) {
  if (a.head.splits * F::kParts == 1) {
    write(own, to, row, w);
  } else {
    const long long place = (split - a.head.splits_from) * F::kParts + part;
    auto* const states = static_cast<typename Fold::Row*>(to.states) + (place * Fold::kWidth + w) * a.head.rows_here;
    states[row - a.head.first_row].copy(own);
  }
}

// Ends the work on an output: gives the thread's states of rows up to `end` to `put`, multiplied by the factor in front
// if there is one; or, if rows are folded too, merges the states of all the block's rows, at `total`.
template <class F, class Fold, class Place, class Put>
__device__ void leave_states(const typename F::Arguments& a, const Rows<F>& rows, const Fold (&folds)[F::kRows], Place,
                             long long first, long long end, typename Fold::Row* total, Put put) {
  using Row = typename Fold::Row;
  if constexpr (Place::kTotal) {
    const long long left = end - first;
    const int present = left <= 0 ? 0 : static_cast<int>(least((left + F::kRowStride - 1) / F::kRowStride, F::kRows));
    Row* states = static_cast<Row*>(a.targets[Place::kNumber].states) +
                  (static_cast<long long>(blockIdx.y) * gridDim.x + blockIdx.x) * F::kThreads * Fold::kWidth;
    fold_block<Fold, F::kThreads>(folds, present, states, total);
  } else {
#pragma unroll
    for (int k = 0; k < F::kRows; ++k) {
      const long long row = first + k * F::kRowStride;
      if (row >= end) break;
#pragma unroll
      for (int w = 0; w < Fold::kWidth; ++w) {
        Row own;
        own.init();
        folds[k].merge_into(&own, w);
        if constexpr (F::template in_front<Place::kNumber>())
          own.state.times(Scalar<double>(static_cast<double>(F::template factor<Place::kNumber>(a, rows, k).v)));
        put(own, row, w);
      }
    }
  }
}

// Leaves a block's rows when the block's split has been folded. Several threads may have parts of the same row.
template <class F, class Fold, class Place>
__device__ void leave(const typename F::Arguments& a, const Rows<F>& rows, const Fold (&folds)[F::kRows], Place place,
                      long long first, const Patch& patch, int part = 0) {
  using Row = typename Fold::Row;
  const Target& to = a.targets[Place::kNumber];
  Row* total = nullptr;
  if constexpr (Place::kTotal)
    total = static_cast<Row*>(to.merged) + (patch.split * a.head.blocks + patch.block) * Fold::kWidth;
  leave_states<F>(a, rows, folds, place, first, a.head.lanes, total, [&](const Row& own, long long row, int w) {
    put_state<F, Fold>(a, to, own, row, w, patch.split, part);
  });
}

// The work of a thread on a strip of columns: the formula `F`.
template <class F>
struct Written {
  __device__ Written(const typename F::Arguments&, const Rows<F>&, const Patch&) {}
  __device__ __forceinline__ void strip(const typename F::Arguments& a, const Rows<F>& rows,
                                        const typename F::L* columns, long long first, int left,
                                        typename F::States& states) {
    F::strip(a, rows, columns, first, left, states);
  }
  __device__ void end(const typename F::Arguments&) const {}
};

// Takes the columns from `begin` to `end` - 1, tile by tile.
template <class F, class Work>
__device__ __forceinline__ void sweep_columns(const typename F::Arguments& a, const Rows<F>& rows, long long begin,
                                              long long end, Work& work, typename F::States& states) {
  using L = typename F::L;
  extern __shared__ uint4 shared[];
  for (long long tile = begin; tile < end; tile += F::kTile) {
    int count = static_cast<int>(least(F::kTile, end - tile));
    if constexpr (F::kColumns > 1) count = opaque(count);
    const L* at = static_cast<const L*>(a.head.columns) + tile * F::kColumnNumbers;
    if constexpr (F::kStaged) {
      __syncthreads();
      stage<F>(at, static_cast<int>(even(count, F::kColumns)), reinterpret_cast<L*>(shared));
      __syncthreads();
      at = reinterpret_cast<const L*>(shared);
    }
#pragma unroll F::kUnroll
    for (int t = 0; t < count; t += F::kColumns)
      work.strip(a, rows, at + t * F::kColumnNumbers, tile + t, count - t, states);
    states.each([](auto& folds, auto) {
#pragma unroll
      for (int k = 0; k < F::kRows; ++k) folds[k].flush();
    });
  }
}

template <class F, class Work>
__device__ __forceinline__ void sweep_by(const typename F::Arguments& a) {
  const Patch patch(a.head);
  const long long first = patch.block * (F::kThreads * F::kRows) + threadIdx.x;
  Rows<F> rows;
  rows.read(a, first, a.head.lanes);
  typename F::States states;
  states.init();
  Work work(a, rows, patch);
  sweep_columns<F>(a, rows, patch.begin, patch.end, work, states);
  work.end(a);
  states.each([&](auto& folds, auto place) { leave<F>(a, rows, folds, place, first, patch); });
}

template <class F>
__device__ void sweep(const typename F::Arguments& a) {
  sweep_by<F, Written<F>>(a);
}

// The order of merging a row's states: the states of one group of splits, into the place of the first; or the states of
// all groups, after the states that earlier windows of the sweep axis have left.
template <class F>
struct MergeRange {
  long long first, end, step;
  __device__ explicit MergeRange(const Head& head) : first(0), end(head.splits_here * F::kParts), step(1) {
    const long long group = head.group * F::kParts;
    if (head.gathers) first = blockIdx.y * group, end = least(first + group, end);
    else if (head.group > 1) step = group;
  }
};

template <class F>
__device__ void merge(const typename F::Arguments& a) {
  const long long row = own_point(a.head), here = row - a.head.first_row;
  if (row >= a.head.to) return;
  const MergeRange<F> range(a.head);
  F::States::each_type([&](auto type, auto place) {
    using Fold = typename decltype(type)::Fold;
    using Row = typename Fold::Row;
    if constexpr (!decltype(place)::kTotal) {
      const Target& to = a.targets[decltype(place)::kNumber];
      // Blocks along z share many weights.
      for (int w = F::kManyWeights ? blockIdx.z : 0; w < Fold::kWidth; w += F::kManyWeights ? gridDim.z : 1) {
        const auto state_of = [&](long long s) {
          return static_cast<Row*>(to.states) + (s * Fold::kWidth + w) * a.head.rows_here + here;
        };
        Row* merged = static_cast<Row*>(to.merged) + w * a.head.rows_held + row;
        Row total;
        long long s = range.first;
        if (a.head.continues && !a.head.gathers) total.copy(*merged);
        else total.copy(*state_of(s)), s += range.step;
        for (; s < range.end; s += range.step) total.state.merge(state_of(s)->state, 0);
        if (a.head.gathers) state_of(range.first)->copy(total);
        else if (a.head.goes_on) merged->copy(total);
        else write(total, to, row, w);
      }
    }
  });
}

// Kernel of the totals over both axes, one block: each thread merges some blocks' states in order, then the states of
// all threads are merged.
template <class F>
__device__ void total(const typename F::Arguments& a) {
  const long long blocks = a.head.blocks * a.head.splits;
  const long long share = (blocks + F::kThreads - 1) / F::kThreads;
  F::States::each_type([&](auto type, auto place) {
    using Fold = typename decltype(type)::Fold;
    using Row = typename Fold::Row;
    if constexpr (decltype(place)::kTotal) {
      const Target& to = a.targets[decltype(place)::kNumber];
      Row* states = static_cast<Row*>(to.states);
      for (int w = 0; w < Fold::kWidth; ++w) {
        Row own;
        own.init();
        for (long long b = threadIdx.x * share; b < least(blocks, (threadIdx.x + 1) * share); ++b)
          own.state.merge(static_cast<const Row*>(to.merged)[b * Fold::kWidth + w].state, 0);
        states[threadIdx.x].copy(own);
        fold_threads<F::kThreads, 1>(states);
        if (threadIdx.x == 0) write(states[0], to, 0, w);
        __syncthreads();
      }
    }
  });
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
