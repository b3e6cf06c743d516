// The common parts of reductions and scans on a device: states that also know of missing items, pieces, and how a warp
// goes through its piece. Warps do not wait for each other.
#pragma once
#include <cub/block/block_scan.cuh>
#include <cub/util_ptx.cuh>
#include "arrays/cuda/runtime.cuh"
#include "arrays/cuda/tuning.hpp"
#include "arrays/verbs.hpp"

namespace kernweave::arrays::cuda {

using partition::Place;

constexpr unsigned kAllLanes = ~0u;
__device__ inline int lane_of_warp() { return static_cast<int>(threadIdx.x) % kWarp; }

// An operator; with kNotes, whether one of its items was not available: a result that is NaN is R's NA then. And does
// it begin anew? What comes before it is another segment's then.
template <class Operator, bool kNotes>
struct Noting {
  static constexpr int kResults = Operator::kResults;
  Operator operation;
  bool missing, anew;

  KW_FN void init() {
    operation.init();
    missing = anew = false;
  }
  KW_FN void take(const Items& items, double value, Index place) {
    operation.take(value, place);
    if (kNotes && value != value) missing |= items.is_missing(value);
  }
  KW_FN void take(const Items& items, int value, Index place) {
    if constexpr (Operator::kReadsIntegers) operation.take(value, place);
    else operation.take(items.as_double(value), place);
    if (kNotes) missing |= value == items.missing;
  }
  KW_FN void merge(const Noting& later) {
    operation.merge(later.operation);
    missing |= later.missing;
  }
  KW_FN void finish(const Items& items, double* values) const {
    operation.finish(values);
    for (int k = 0; kNotes && k < kResults; ++k)
      if (values[k] != values[k] && missing) values[k] = items.not_available;
  }
};

struct Then {
  template <class State>
  __device__ State operator()(State before, const State& later) const {
    if (later.anew) return later;
    before.merge(later);
    return before;
  }
};

// Merges all lanes' states, each lane's items being later than those of the lane before. Every lane gets the result.
template <class State>
__device__ State merged_by_warp(State own) {
#pragma unroll
  for (int apart = 1; apart < kWarp; apart *= 2) {
    State other = cub::ShuffleIndex<kWarp>(own, lane_of_warp() ^ apart, kAllLanes);
    if (lane_of_warp() & apart) {
      other.merge(own);
      own = other;
    } else {
      own.merge(other);
    }
  }
  return own;
}

// The states of a piece's open segments: `head` of the segment that it begins within, if this ends there, and `tail` of
// the segment that it leaves open.
template <class State>
struct Open {
  State head, tail;
  Index head_of;  // the segment; -1 for none
};

// The numbers of a column, integers or doubles, in its order.
template <class Number>
struct ColumnOf {
  Items items;
  const Number* numbers;
  __device__ Number at(Index k) const { return numbers[items.order ? items.order[k] - 1 : k]; }
};

// Calls f with the type of the numbers.
template <class F>
void with_numbers(const Items& items, F f) {
  if (items.integers) f(Type<int>());
  else f(Type<double>());
}

// The limits of a piece.
struct Stretch {
  Place from, to;
};

// Items, cut into segments and into pieces.
template <class State>
struct Pieces {
  Items items;
  Index rows;  // numbers from one column to the next
  Whole ends;
  Index segments, count, pieces;
  State begin;  // of every segment
  Open<State>* open;

  // Blocks of warps with a piece each.
  dim3 blocks(Index columns) const {
    return dim3(blocks_for(pieces, kPieceThreads / kWarp), static_cast<unsigned>(columns));
  }
  __device__ Index piece() const {
    return static_cast<Index>(blockIdx.x) * (kPieceThreads / kWarp) + threadIdx.x / kWarp;
  }
  // Both ends are looked for at the same time.
  __device__ Stretch stretch(Index piece) const {
    const Index diagonal = partition::even_split(count + segments, pieces, piece + lane_of_warp() % 2);
    const Place found = partition::walk_to(ends, segments, count, diagonal);
    const auto of_lane = [&](int lane) {
      return Place{__shfl_sync(kAllLanes, found.object, lane), __shfl_sync(kAllLanes, found.item, lane)};
    };
    return {of_lane(0), of_lane(1)};
  }
  __device__ Index begin_of(Index segment) const { return segment == 0 ? 0 : ends[segment - 1]; }
  __device__ bool begun_before(Place at) const { return at.object < segments && at.item > begin_of(at.object); }
  template <class Number>
  __device__ ColumnOf<Number> column(Index number) const {
    if constexpr (std::is_same_v<Number, int>) return {items, items.integers + number * rows};
    else return {items, items.doubles + number * rows};
  }
  __device__ Open<State>& of(Index piece) const { return open[blockIdx.y * pieces + piece]; }
};

inline Index pieces_for(Index items_and_segments) {
  const Index most = (items_and_segments + kLeastPiece - 1) / kLeastPiece;
  return std::max<Index>(1, std::min<Index>(kMostPieces, most));
}

// Items first .. first + count - 1, as many for each lane, a warp's width apart; all loads are on their way together.
template <int kEach, class Number>
__device__ void fetch(const ColumnOf<Number>& column, Index first, int count, Number (&to)[kEach]) {
  const auto fetch_by = [&](auto at) {
#pragma unroll
    for (int v = 0; v < kEach; ++v) {
      const int k = v * kWarp + lane_of_warp();
      to[v] = k < count ? column.numbers[at(first + k)] : Number();
    }
  };
  if (column.items.order) fetch_by([&](Index k) { return column.items.order[k] - 1; });
  else fetch_by([](Index k) { return k; });
}

// 16 bytes.
template <class Number>
struct alignas(16) Vector {
  static constexpr int kWide = 16 / sizeof(Number);
  Number numbers[kWide];
};

// Items first .. last - 1, by all lanes of a warp in turn: some up to where 16 bytes begin, then so many at a time.
template <class State, class Number>
__device__ void fold_in_turn(const ColumnOf<Number>& column, Index first, Index last, State* state) {
  constexpr int kWide = Vector<Number>::kWide;
  const auto one_by_one = [&](Index from, Index to) {
#pragma unroll 4
    for (Index k = from + lane_of_warp(); k < to; k += kWarp)
      state->take(column.items, column.at(k), column.items.place(k));
  };
  if (column.items.order) return one_by_one(first, last);
  const auto at = reinterpret_cast<std::uintptr_t>(column.numbers + first);
  const Index begin = min(last, first + static_cast<Index>(-at % sizeof(Vector<Number>) / sizeof(Number)));
  const Index vectors = (last - begin) / kWide;
  const auto* const from = reinterpret_cast<const Vector<Number>*>(column.numbers + begin);
  const auto take = [&](const Vector<Number>& own, Index k) {
#pragma unroll
    for (int w = 0; w < kWide; ++w) state->take(column.items, own.numbers[w], begin + k * kWide + w + 1);
  };
  one_by_one(first, begin);
  Index k = lane_of_warp();
  for (; k + (kInFlight - 1) * kWarp < vectors; k += kInFlight * kWarp) {
    Vector<Number> own[kInFlight];
#pragma unroll
    for (int v = 0; v < kInFlight; ++v) own[v] = from[k + v * kWarp];
#pragma unroll
    for (int v = 0; v < kInFlight; ++v) take(own[v], k + v * kWarp);
  }
  for (; k < vectors; k += kWarp) {
    const Vector<Number> own = from[k];
    take(own, k);
  }
  one_by_one(begin + vectors * kWide, last);
}

// Scans the open segments of one block's pieces: calls use(piece, before) for all, `before` being the state before the
// piece of the segment that is not over. The block's threads have as many pieces each.
template <class State, class Use>
__device__ void carry_on(const Pieces<State>& p, Use use) {
  using Scan = cub::BlockScan<State, kCarryThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage scratch;
  const Open<State>* const open = p.open + blockIdx.x * p.pieces;
  const Index first = partition::even_split(p.pieces, kCarryThreads, threadIdx.x);
  const Index last = partition::even_split(p.pieces, kCarryThreads, threadIdx.x + 1);
  State all, before;
  all.init();
  for (Index k = first; k < last; ++k) all = Then()(all, open[k].tail);
  Scan(scratch).ExclusiveScan(all, before, p.begin, Then());
  for (Index k = first; k < last; ++k) {
    use(k, before);
    before = Then()(before, open[k].tail);
  }
}

template <class State>
Pieces<State> cut_into_pieces(const Request& request, const Items& items, const Segments& segments) {
  Pieces<State> p;
  p.items = items.column(0, segments.order);
  p.rows = segments.items;
  p.ends = segments.offsets.from(1);
  p.segments = segments.count();
  p.count = segments.items;
  p.pieces = pieces_for(p.count + p.segments);
  p.begin.init();
  p.begin.anew = true;
  if (request.begins) p.begin.take(items, request.init, 0);
  return p;
}

}  // namespace kernweave::arrays::cuda
