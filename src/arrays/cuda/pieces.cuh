// What reductions and scans on a device have in common: states that also know of missing items, pieces, and the tiles
// in which a block goes through its piece.
#pragma once
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include "arrays/cuda/runtime.cuh"
#include "arrays/cuda/tuning.hpp"
#include "arrays/request.hpp"

namespace kernweave::arrays::cuda {

using partition::Place;

// An operator, and with kNotes whether one of its items was not available: a result that is NaN is R's NA then.
template <class Operator, bool kNotes>
struct Noting {
  static constexpr int kResults = Operator::kResults;
  Operator operation;
  bool missing;

  KW_FN void init() {
    operation.init();
    missing = false;
  }
  KW_FN void take(const Items& items, double value, Index place) {
    operation.take(value, place);
    if (kNotes && value != value) missing |= items.is_missing(value);
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

// A state, and whether it begins anew: what comes before it is another segment's then.
template <class State>
struct Flagged {
  State state;
  int anew;
};

struct Then {
  template <class State>
  __device__ Flagged<State> operator()(Flagged<State> before, const Flagged<State>& later) const {
    if (later.anew) return later;
    before.state.merge(later.state);
    return before;
  }
};
struct Merge {
  template <class State>
  __device__ State operator()(State before, const State& later) const {
    before.merge(later);
    return before;
  }
};

// What a piece knows of the segment that it begins within, if it ends there, and of the one that it leaves open.
template <class State>
struct Open {
  State head, tail;
  Index head_of;  // the segment; -1 for none
  int anew;       // has the tail's segment begun in the piece?
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

  __device__ Place place(Index piece) const {
    return partition::walk_to(ends, segments, count, partition::even_split(count + segments, pieces, piece));
  }
  __device__ Index begin_of(Index segment) const { return segment == 0 ? 0 : ends[segment - 1]; }
  __device__ bool begun_before(Place at) const { return at.object < segments && at.item > begin_of(at.object); }
  __device__ Items column(Index number) const {
    Items own = items;
    if (own.integers) own.integers += number * rows;
    else own.doubles += number * rows;
    return own;
  }
  __device__ Open<State>& mine() const { return open[blockIdx.y * pieces + blockIdx.x]; }
};

inline Index pieces_for(Index items_and_segments) {
  const Index most = (items_and_segments + kLeastPiece - 1) / kLeastPiece;
  return std::max<Index>(1, std::min<Index>(kMostPieces, most));
}

// The next tile of a piece, in shared memory: ends of segments, counted from its first item, and values.
template <int kThreads, int kEach>
struct TileOf {
  static constexpr int kItems = kThreads * kEach;
  double values[kItems];
  int ends[kItems];

  // What the tile may hold is loaded at once, before it is known where it ends.
  __device__ void load(const Items& items, const Whole& all_ends, Place at, Place to) {
    const Index items_left = to.item - at.item, ends_left = to.object - at.object;
#pragma unroll
    for (int v = 0; v < kEach; ++v) {
      const int k = v * kThreads + static_cast<int>(threadIdx.x);
      if (k < ends_left) ends[k] = clipped(all_ends[at.object + k] - at.item);
      if (k < items_left) values[k] = items.at(at.item + k);
    }
    __syncthreads();
  }
  // How many segments end in it, of as many items and ends as it has room for.
  __device__ int ends_within(Place at, Place to) const { return ends_before(at, to, room(at, to)); }
  __device__ static int room(Place at, Place to) { return limited(to.item - at.item + to.object - at.object); }
  // Where a thread begins.
  __device__ int ends_before(Place at, Place to, int diagonal) const {
    return static_cast<int>(partition::merge_path(ends, limited(to.object - at.object), partition::Counting(),
                                                  limited(to.item - at.item), diagonal));
  }
  // Items up to the first end, or to the end of the piece.
  __device__ Index first_run(Place at, Place to) const { return at.object < to.object ? ends[0] : to.item - at.item; }

 private:
  __device__ static int limited(Index count) { return count < kItems ? static_cast<int>(count) : kItems; }
  __device__ static int clipped(Index end) { return end < (1 << 30) ? static_cast<int>(end) : 1 << 30; }
};

// Items first .. last - 1, by all threads of a block in turn.
template <class State>
__device__ void fold_in_turn(const Items& items, Index first, Index last, State* state) {
  constexpr int kAtOnce = kStream.each;
  Index k = first + threadIdx.x;
  const Index step = blockDim.x;
  for (; k + (kAtOnce - 1) * step < last; k += kAtOnce * step) {
    double values[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) values[u] = items.at(k + u * step);
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) state->take(items, values[u], items.place(k + u * step));
  }
  for (; k < last; k += step) state->take(items, items.at(k), items.place(k));
}

// What comes before each piece, and is not over: by one block, whose threads have as many pieces each.
// use(piece, before) is called for all.
template <class State, class Use>
__device__ void carry_on(const Pieces<State>& p, Use use) {
  using Scan = cub::BlockScan<Flagged<State>, kCarryThreads>;
  __shared__ typename Scan::TempStorage scratch;
  const Open<State>* const open = p.open + blockIdx.x * p.pieces;
  const Index first = partition::even_split(p.pieces, kCarryThreads, threadIdx.x);
  const Index last = partition::even_split(p.pieces, kCarryThreads, threadIdx.x + 1);
  Flagged<State> all{p.begin, 0}, before{p.begin, 0};
  all.state.init();
  for (Index k = first; k < last; ++k) all = Then()(all, Flagged<State>{open[k].tail, open[k].anew});
  Scan(scratch).ExclusiveScan(all, before, Flagged<State>{p.begin, 1}, Then());
  for (Index k = first; k < last; ++k) {
    use(k, before.state);
    before = Then()(before, Flagged<State>{open[k].tail, open[k].anew});
  }
}

template <class State>
Pieces<State> cut_into_pieces(const Request& request, const Items& items, Index rows, const Whole& offsets) {
  Pieces<State> p;
  p.items = items;
  p.rows = rows;
  p.ends = offsets.from(1);
  p.segments = offsets.count - 1;
  p.count = rows;
  p.pieces = pieces_for(p.count + p.segments);
  p.begin.init();
  if (request.begins) p.begin.take(items, request.init, 0);
  return p;
}

}  // namespace kernweave::arrays::cuda
