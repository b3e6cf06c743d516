// Scans on a device in three phases, as on the CPU (arrays/scan.cpp): what each piece knows of the segment that it
// leaves open, what comes before each piece, and then the items of each piece one by one.
#pragma once
#include "arrays/cuda/pieces.cuh"

namespace kernweave::arrays::cuda {

// Where running results go: to doubles, or to integers, of which one may be too large.
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

  // What comes of item k of the column.
  __device__ void write(Index column, const Items& items, Index k, double running) const {
    const Index at = column * pieces.rows + items.place(k) - 1;
    if (to.doubles) {
      to.doubles[at] = running;
      return;
    }
    constexpr double kMost = 2147483647;
    const bool fits = running >= -kMost && running <= kMost;
    to.integers[at] = fits ? static_cast<int>(running) : items.missing;
    if (!fits && running == running) *to.overflow = 1;
  }
};

// Of the segment that is open at the end of a piece, the items that lie in it.
template <class State>
__global__ void __launch_bounds__(kReduceTile.threads) look_at_pieces(const __grid_constant__ Scanned<State> s) {
  using Fold = cub::BlockReduce<State, kReduceTile.threads>;
  __shared__ typename Fold::TempStorage scratch;
  const Pieces<State>& p = s.pieces;
  const Place from = p.place(blockIdx.x), to = p.place(blockIdx.x + 1);
  const Index begin = to.object < p.segments ? p.begin_of(to.object) : p.count;
  State own;
  own.init();
  fold_in_turn(p.column(blockIdx.y), max(from.item, begin), to.item, &own);
  const State all = Fold(scratch).Reduce(own, Merge());
  if (threadIdx.x > 0) return;
  Open<State>& mine = p.mine();
  mine.anew = begin >= from.item;
  mine.tail = p.begin;
  if (!mine.anew) mine.tail.init();
  mine.tail.merge(all);
}

// From here on `head` has what comes before each piece, of the segment that is open there.
template <class State>
__global__ void __launch_bounds__(kCarryThreads) carry_scan(const __grid_constant__ Scanned<State> s) {
  Open<State>* const open = s.pieces.open + blockIdx.x * s.pieces.pieces;
  carry_on(s.pieces, [&](Index piece, const State& before) { open[piece].head = before; });
}

// A block's way through a piece.
template <class State>
class PieceScanner {
 public:
  static constexpr int kThreads = kScanTile.threads, kEach = kScanTile.each;
  using Tile = TileOf<kThreads, kEach>;
  using Scan = cub::BlockScan<Flagged<State>, kThreads>;
  struct Shared {
    Tile tile;
    State before;
    typename Scan::TempStorage scan;
  };

  __device__ PieceScanner(const Scanned<State>& s, Shared* shared)
      : s_(s), shared_(*shared), items_(s.pieces.column(blockIdx.y)) {}

  __device__ void run() {
    Place at = s_.pieces.place(blockIdx.x);
    const Place to = s_.pieces.place(blockIdx.x + 1);
    if (threadIdx.x == 0) shared_.before = s_.pieces.begun_before(at) ? s_.pieces.mine().head : s_.pieces.begin;
    while (at.item < to.item || at.object < to.object) {
      shared_.tile.load(items_, s_.pieces.ends, at, to);
      at = scan_tile(at, to);
    }
  }

 private:
  __device__ Place scan_tile(Place at, Place to) {
    const int all = Tile::room(at, to), ends = shared_.tile.ends_within(at, to);
    const int from = min(static_cast<int>(threadIdx.x) * kEach, all), until = min(from + kEach, all);
    const int object = shared_.tile.ends_before(at, to, from), item = from - object;
    const auto nothing = [](int, const State&, const State&) {};
    Flagged<State> own, before, total;
    own.state.init();
    own.anew = 0;
    walk(at, object, item, until - from, ends, &own, nothing);
    Scan(shared_.scan).ExclusiveScan(own, before, Flagged<State>{shared_.before, 1}, Then(), total);
    walk(at, object, item, until - from, ends, &before, [&](int k, const State& now, const State& after) {
      double running[State::kResults];
      (s_.exclusive ? now : after).finish(items_, running);
      shared_.tile.values[k] = running[0];
    });
    __syncthreads();
    for (int k = static_cast<int>(threadIdx.x); k < all - ends; k += kThreads)
      s_.write(blockIdx.y, items_, at.item + k, shared_.tile.values[k]);
    if (threadIdx.x == 0) shared_.before = Then()(Flagged<State>{shared_.before, 1}, total).state;
    __syncthreads();
    return {at.object + ends, at.item + all - ends};
  }

  // Goes so many steps; running(item, state before it, state after it).
  template <class Running>
  __device__ void walk(Place at, int object, int item, int steps, int ends, Flagged<State>* now,
                       const Running& running) const {
    for (int k = 0; k < steps; ++k) {
      if (object < ends && shared_.tile.ends[object] <= item) {
        now->state = s_.pieces.begin;
        now->anew = 1;
        ++object;
      } else {
        const State before = now->state;
        now->state.take(items_, shared_.tile.values[item], items_.place(at.item + item));
        running(item, before, now->state);
        ++item;
      }
    }
  }

  const Scanned<State>& s_;
  Shared& shared_;
  const Items items_;
};

template <class State>
__global__ void __launch_bounds__(kScanTile.threads) scan_pieces(const __grid_constant__ Scanned<State> s) {
  __shared__ typename PieceScanner<State>::Shared shared;
  PieceScanner<State>(s, &shared).run();
}

template <class Operator>
void scan_by(Device& gpu, const Request& request, bool exclusive, const Items& items, Index rows, Index columns,
             const Whole& offsets, const RunningTo& to) {
  using State = Noting<Operator, true>;
  Scanned<State> s{cut_into_pieces<State>(request, items, rows, offsets), to, exclusive};
  const Index pieces = s.pieces.pieces;
  const Block open = room_for<Open<State>>(gpu, pieces * columns);
  s.pieces.open = pointer<Open<State>>(open);
  const auto across = static_cast<unsigned>(columns);
  const dim3 blocks(static_cast<unsigned>(pieces), across);
  launch(gpu, look_at_pieces<State>, blocks, kReduceTile.threads, s);
  launch(gpu, carry_scan<State>, dim3(across), kCarryThreads, s);
  launch(gpu, scan_pieces<State>, blocks, kScanTile.threads, s);
}

}  // namespace kernweave::arrays::cuda
