// Reductions on a device, as on the CPU (arrays/reduce.cpp): a block goes through a piece, finishes the segments that
// it has wholly, and hands over what it knows of the two others, which are put together in the order of pieces.
#pragma once
#include "arrays/cuda/pieces.cuh"

namespace kernweave::arrays::cuda {

template <class State>
struct Reduction {
  Pieces<State> pieces;
  double* out;

  __device__ void write(Index column, Index segment, const Items& items, const State& found) const {
    double values[State::kResults];
    found.finish(items, values);
    for (int k = 0; k < State::kResults; ++k)
      out[(column * State::kResults + k) * pieces.segments + segment] = values[k];
  }
};

// A block's way through a piece.
template <class State>
class PieceReducer {
 public:
  static constexpr int kThreads = kReduceTile.threads, kEach = kReduceTile.each;
  using Tile = TileOf<kThreads, kEach>;
  using Scan = cub::BlockScan<Flagged<State>, kThreads>;
  using Fold = cub::BlockReduce<State, kThreads>;
  struct Shared {
    Tile tile;
    State before;  // of the segment that is open, what has come so far in this piece
    union {
      typename Scan::TempStorage scan;
      typename Fold::TempStorage fold;
    };
  };

  __device__ PieceReducer(const Reduction<State>& r, Shared* shared)
      : r_(r), shared_(*shared), items_(r.pieces.column(blockIdx.y)), open_(r.pieces.mine()) {}

  __device__ void run() {
    Place at = r_.pieces.place(blockIdx.x);
    const Place to = r_.pieces.place(blockIdx.x + 1);
    head_ = r_.pieces.begun_before(at) ? at.object : -1;
    if (threadIdx.x == 0) {
      shared_.before = r_.pieces.begin;
      if (head_ >= 0) shared_.before.init();
      open_.head_of = -1;
      open_.anew = head_ < 0 || to.object > at.object;
    }
    while (at.item < to.item || at.object < to.object) {
      shared_.tile.load(items_, r_.pieces.ends, at, to);
      const Index run = shared_.tile.first_run(at, to);
      if (run >= kLongRun) at.item = take_run(at.item, to_end(at, to));
      else at = take_tile(at, to);
    }
    __syncthreads();
    if (threadIdx.x == 0) open_.tail = shared_.before;
  }

 private:
  __device__ Index to_end(Place at, Place to) const {
    return at.object < to.object ? r_.pieces.ends[at.object] : to.item;
  }

  // Of one segment.
  __device__ Index take_run(Index first, Index last) {
    State own;
    own.init();
    fold_in_turn(items_, first, last, &own);
    const State all = Fold(shared_.fold).Reduce(own, Merge());
    if (threadIdx.x == 0) shared_.before.merge(all);
    __syncthreads();
    return last;
  }

  __device__ Place take_tile(Place at, Place to) {
    const Tile& tile = shared_.tile;
    const int all = Tile::room(at, to), ends = tile.ends_within(at, to);
    const int from = min(static_cast<int>(threadIdx.x) * kEach, all), until = min(from + kEach, all);
    int object = tile.ends_before(at, to, from), item = from - object;
    Flagged<State> now;
    now.state.init();
    now.anew = 0;
    State head;
    Index head_of = -1;
    for (int k = from; k < until; ++k) {
      if (object < ends && tile.ends[object] <= item) {
        if (now.anew) {
          r_.write(blockIdx.y, at.object + object, items_, now.state);
        } else {
          head = now.state;
          head_of = at.object + object;
        }
        now.state = r_.pieces.begin;
        now.anew = 1;
        ++object;
      } else {
        now.state.take(items_, tile.values[item], items_.place(at.item + item));
        ++item;
      }
    }
    close_tile(now, head, head_of);
    return {at.object + ends, at.item + all - ends};
  }

  __device__ void close_tile(const Flagged<State>& now, const State& head, Index head_of) {
    Flagged<State> before, all;
    Scan(shared_.scan).ExclusiveScan(now, before, Flagged<State>{shared_.before, 1}, Then(), all);
    __syncthreads();
    if (head_of >= 0) {
      before.state.merge(head);
      if (head_of == head_) {
        open_.head = before.state;
        open_.head_of = head_of;
      } else {
        r_.write(blockIdx.y, head_of, items_, before.state);
      }
    }
    if (threadIdx.x == 0) shared_.before = Then()(Flagged<State>{shared_.before, 1}, all).state;
    __syncthreads();
  }

  const Reduction<State>& r_;
  Shared& shared_;
  const Items items_;
  Open<State>& open_;
  Index head_;  // the segment that the piece begins within; -1 for none
};

template <class State>
__global__ void __launch_bounds__(kReduceTile.threads) reduce_pieces(const __grid_constant__ Reduction<State> r) {
  __shared__ typename PieceReducer<State>::Shared shared;
  PieceReducer<State>(r, &shared).run();
}

// A block for each column.
template <class State>
__global__ void __launch_bounds__(kCarryThreads) close_open(const __grid_constant__ Reduction<State> r) {
  carry_on(r.pieces, [&](Index piece, State before) {
    const Open<State>& found = r.pieces.open[blockIdx.x * r.pieces.pieces + piece];
    if (found.head_of < 0) return;
    before.merge(found.head);
    r.write(blockIdx.x, found.head_of, r.pieces.column(blockIdx.x), before);
  });
}

template <class Operator, bool kNotes>
void reduce_by(Device& gpu, const Request& request, const Items& items, Index rows, Index columns,
               const Whole& offsets, double* out) {
  using State = Noting<Operator, kNotes>;
  Reduction<State> r{cut_into_pieces<State>(request, items, rows, offsets), out};
  const Index pieces = r.pieces.pieces;
  const Block open = room_for<Open<State>>(gpu, pieces * columns);
  r.pieces.open = pointer<Open<State>>(open);
  const auto across = static_cast<unsigned>(columns);
  launch(gpu, reduce_pieces<State>, dim3(static_cast<unsigned>(pieces), across), kReduceTile.threads, r);
  launch(gpu, close_open<State>, dim3(across), kCarryThreads, r);
}

}  // namespace kernweave::arrays::cuda
