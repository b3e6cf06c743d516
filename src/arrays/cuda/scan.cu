// Scans on a device in three phases, as on the CPU (arrays/scan.cpp): what each piece knows of the segment that it
// leaves open, what comes before each piece, and then the items of each piece one by one.
#include <limits>
#include "arrays/cuda/pieces.cuh"
#include "arrays/cuda/verbs.hpp"

namespace kernweave::arrays::cuda {

// The target of running results: doubles, or integers; `overflow` tells that an integer would be too large.
struct RunningTo {
  double* doubles;
  int* integers;
  int* overflow;
};

template <class State>
struct Scanned {
  Pieces<State> pieces;
  RunningTo to;
  bool exclusive;
};

// A running result on its way: whole numbers stay whole, of which the least stands for what is missing.
template <class Operator>
using ResultOf = std::conditional_t<Operator::kReadsIntegers, Index, double>;
constexpr Index kMissingResult = std::numeric_limits<Index>::min();

template <class Operator>
__device__ ResultOf<Operator> result_of(const Noting<Operator, true>& running, const Items& items) {
  if constexpr (Operator::kReadsIntegers) {
    return running.operation.missing ? kMissingResult : running.operation.total.total.v;
  } else {
    double found;
    running.finish(items, &found);
    return found;
  }
}

__device__ inline bool is_missing_result(Index result) { return result == kMissingResult; }
__device__ inline bool is_missing_result(double result) { return result != result; }
__device__ inline double as_double(Index result, const Items& items) {
  return is_missing_result(result) ? items.not_available : static_cast<double>(result);
}
__device__ inline double as_double(double result, const Items&) { return result; }
// `large` where it is none.
template <class Result>
__device__ int as_integer(Result result, const Items& items, bool* large) {
  constexpr Result kMost = 2147483647;
  const bool fits = result >= -kMost && result <= kMost;
  *large |= !fits && !is_missing_result(result);
  return fits ? static_cast<int>(result) : items.missing;
}

// Folds the items of each piece that lie in the segment open at the piece's end.
template <class State, class Number>
__global__ void __launch_bounds__(kPieceThreads) look_at_pieces(const __grid_constant__ Scanned<State> s) {
  const Pieces<State>& p = s.pieces;
  const Index piece = p.piece();
  if (piece >= p.pieces) return;
  const Stretch own = p.stretch(piece);
  const Index begin = own.to.object < p.segments ? p.begin_of(own.to.object) : p.count;
  State found;
  found.init();
  fold_in_turn(p.template column<Number>(blockIdx.y), max(own.from.item, begin), own.to.item, &found);
  const State all = merged_by_warp(found);
  if (lane_of_warp() > 0) return;
  State& tail = p.of(piece).tail;
  tail = p.begin;
  if (begin < own.from.item) tail.init();
  tail.merge(all);
}

// Stores in `head` the state before each piece, for the segment that is open there.
template <class State>
__global__ void __launch_bounds__(kCarryThreads) carry_scan(const __grid_constant__ Scanned<State> s) {
  Open<State>* const open = s.pieces.open + blockIdx.x * s.pieces.pieces;
  carry_on(s.pieces, [&](Index piece, const State& before) { open[piece].head = before; });
}

// Items or their results, each lane's side by side; and of each lane's items a bit where a segment begins.
struct ScanTile {
  static constexpr int kItems = kScanTile.items();
  double slots[kItems];
  unsigned begins[kWarp];
};

// A warp's way through a piece. All lanes know the same, but for the items that they take.
template <class State, class Number>
class PieceScanner {
 public:
  static constexpr int kEach = kScanTile.each;
  using Result = decltype(result_of(State(), Items()));

  __device__ PieceScanner(const Scanned<State>& s, Index piece, ScanTile* tile)
      : s_(s),
        tile_(*tile),
        column_(s.pieces.template column<Number>(blockIdx.y)),
        stretch_(s.pieces.stretch(piece)),
        object_(stretch_.from.object) {
    before_ = s.pieces.begun_before(stretch_.from) ? s.pieces.of(piece).head : s.pieces.begin;
  }

  __device__ void run() {
    Number next[kEach];
    fetch(column_, stretch_.from.item, count_at(stretch_.from.item), next);
    for (Index first = stretch_.from.item; first < stretch_.to.item; first += ScanTile::kItems) {
      __syncwarp();
      put_side_by_side(next);
      mark_begins(first, count_at(first));
      __syncwarp();
      fetch(column_, first + ScanTile::kItems, count_at(first + ScanTile::kItems), next);
      if (__any_sync(kAllLanes, tile_.begins[lane_of_warp()] != 0)) scan<true>(first, count_at(first));
      else scan<false>(first, count_at(first));
    }
    if (large_) *s_.to.overflow = 1;
  }

 private:
  __device__ int count_at(Index first) const {
    const Index left = stretch_.to.item - first;
    return left < ScanTile::kItems ? static_cast<int>(left) : ScanTile::kItems;
  }
  template <class T>
  __device__ T* slots() const {
    return reinterpret_cast<T*>(tile_.slots);
  }

  __device__ void put_side_by_side(const Number (&items)[kEach]) const {
#pragma unroll
    for (int v = 0; v < kEach; ++v) slots<Number>()[v * kWarp + lane_of_warp()] = items[v];
    tile_.begins[lane_of_warp()] = 0;
    __syncwarp();
  }

  // Marks where segments begin: at the end of a segment, the next segment that has items begins.
  __device__ void mark_begins(Index first, int count) {
    for (int found = kWarp; found == kWarp;) {
      const Index object = object_ + lane_of_warp();
      const Index at = object < stretch_.to.object ? s_.pieces.ends[object] - first : count;
      if (at < count) atomicOr(&tile_.begins[at / kEach], 1u << (at % kEach));
      found = __popc(__ballot_sync(kAllLanes, at < count));
      object_ += found;
    }
  }

  // Scans the tile; with kCut, segments begin inside.
  template <bool kCut>
  __device__ void scan(Index first, int count) {
    const int begin = lane_of_warp() * kEach;
    const Lane own{kCut ? tile_.begins[lane_of_warp()] : 0u, first + begin, count - begin};
    Number items[kEach];
#pragma unroll
    for (int v = 0; v < kEach; ++v) items[v] = slots<Number>()[begin + v];
    State all;
    all.init();
    step<kCut>(items, own, &all, [](int, bool, const State&) {});
    State before = all_before<kCut>(all);
    __syncwarp();
    auto* const results = slots<Result>();
    step<kCut>(items, own, &before, [&](int v, bool after, const State& running) {
      if (after != s_.exclusive) results[begin + v] = result_of(running, column_.items);
    });
    __syncwarp();
    if (s_.to.integers) {
      write(first, count, s_.to.integers, [&](Result result) { return as_integer(result, column_.items, &large_); });
    } else {
      write(first, count, s_.to.doubles, [&](Result result) { return as_double(result, column_.items); });
    }
  }

  // Returns what comes before a lane's items; `before_` becomes what comes before the next tile.
  template <bool kCut>
  __device__ State all_before(State own) {
    const int lane = lane_of_warp();
#pragma unroll
    for (int apart = 1; apart < kWarp; apart *= 2) {
      const State other = cub::ShuffleIndex<kWarp>(own, max(lane - apart, 0), kAllLanes);
      if (lane >= apart) own = one_by_one<kCut>(other, own);
    }
    const State start = before_, other = cub::ShuffleIndex<kWarp>(own, max(lane - 1, 0), kAllLanes);
    before_ = one_by_one<kCut>(start, cub::ShuffleIndex<kWarp>(own, kWarp - 1, kAllLanes));
    if (lane == 0) return start;
    return one_by_one<kCut>(start, other);
  }
  template <bool kCut>
  __device__ static State one_by_one(State before, const State& later) {
    if constexpr (kCut) return Then()(before, later);
    before.merge(later);
    return before;
  }

  // A lane's share of a tile: where segments begin, its first item, and the number of items.
  struct Lane {
    unsigned begins;
    Index first;
    int count;
  };

  // Takes a lane's items one by one; calls running(number, false, state before it) and running(number, true, state
  // after it).
  template <bool kCut, class Running>
  __device__ void step(const Number (&items)[kEach], const Lane& own, State* now, const Running& running) const {
#pragma unroll
    for (int v = 0; v < kEach; ++v) {
      if (v >= own.count) continue;
      if (kCut && (own.begins >> v & 1)) *now = s_.pieces.begin;
      running(v, false, *now);
      now->take(column_.items, items[v], column_.items.place(own.first + v));
      running(v, true, *now);
    }
  }

  template <class To, class Change>
  __device__ void write(Index first, int count, To* to, const Change& change) const {
    To* const out = to + blockIdx.y * s_.pieces.rows;
#pragma unroll
    for (int v = 0; v < kEach; ++v) {
      const int k = v * kWarp + lane_of_warp();
      if (k < count) out[column_.items.place(first + k) - 1] = change(slots<Result>()[k]);
    }
  }

  const Scanned<State>& s_;
  ScanTile& tile_;
  const ColumnOf<Number> column_;
  const Stretch stretch_;
  Index object_;  // the first whose end has not been seen
  State before_;  // of the segment that is open
  bool large_ = false;
};

template <class State, class Number>
__global__ void __launch_bounds__(kPieceThreads) scan_pieces(const __grid_constant__ Scanned<State> s) {
  __shared__ ScanTile tiles[kPieceThreads / kWarp];
  const Index piece = s.pieces.piece();
  if (piece < s.pieces.pieces) PieceScanner<State, Number>(s, piece, tiles + threadIdx.x / kWarp).run();
}

template <class Operator>
void scan_by(Device& gpu, const Request& request, bool exclusive, const Items& items, Index columns,
             const Segments& segments, const RunningTo& to) {
  using State = Noting<Operator, true>;
  Scanned<State> s{cut_into_pieces<State>(request, items, segments), to, exclusive};
  const Block open = room_for<Open<State>>(gpu, s.pieces.pieces * columns);
  s.pieces.open = pointer<Open<State>>(open);
  const dim3 blocks = s.pieces.blocks(columns);
  with_numbers(items, [&](auto type) {
    using Number = typename decltype(type)::Of;
    launch(gpu, look_at_pieces<State, Number>, blocks, kPieceThreads, s);
    launch(gpu, carry_scan<State>, dim3(static_cast<unsigned>(columns)), kCarryThreads, s);
    launch(gpu, scan_pieces<State, Number>, blocks, kPieceThreads, s);
  });
}

bool CudaVerbs::scan(const Request& request, bool exclusive, const Items& items, Index columns,
                     const Segments& segments, const Numbers& out) const {
  const Block overflow = room_for<int>(gpu, 1);
  clear(gpu, overflow, sizeof(int));
  const RunningTo to{out.doubles, out.integers, pointer<int>(overflow)};
  with_operator<false>(request.op, [&](auto type) {
    using Operator = typename decltype(type)::Of;
    if constexpr (Operator::kResults == 1)
      scan_by<Operator>(gpu, request, exclusive, items, columns, segments, to);
  });
  // The CPU knows what comes after an integer that is too large.
  if (out.integers && fetched(gpu, to.overflow)) throw Declined();
  return false;
}

}  // namespace kernweave::arrays::cuda
