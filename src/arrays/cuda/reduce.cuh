// Reductions on a device, as on the CPU (arrays/reduce.cpp): a warp goes through a piece, finishes the segments that it
// has wholly, and hands over what it knows of the two others, which are put together in the order of pieces.
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

// The part of a piece that a warp reads: items, and ends of segments, counted from the first item of the piece.
template <class Number>
struct ReduceTile {
  static constexpr int kItems = kReduceTile.items();
  Number items[kItems];
  int ends[kTileEnds];
};

// A warp's way through a piece. All lanes know the same, but for the items that they take.
template <class State, class Number>
class PieceReducer {
 public:
  using Tile = ReduceTile<Number>;

  __device__ PieceReducer(const Reduction<State>& r, Index piece, Tile* tile)
      : r_(r),
        tile_(*tile),
        column_(r.pieces.template column<Number>(blockIdx.y)),
        open_(r.pieces.of(piece)),
        stretch_(r.pieces.stretch(piece)),
        at_(stretch_.from) {}

  __device__ void run() {
    const Place &from = stretch_.from, &to = stretch_.to;
    head_ = r_.pieces.begun_before(from) ? from.object : -1;
    before_ = r_.pieces.begin;
    if (head_ >= 0) before_.init();
    if (lane_of_warp() == 0) open_.head_of = -1;
    while (at_.item < to.item || at_.object < to.object) {
      if (next_ == known_ && at_.object < to.object) know_ends();
      const Index run = (next_ < known_ ? tile_.ends[next_] : to.item - from.item) - (at_.item - from.item);
      if (run >= Tile::kItems) take_run(run);
      else take_tile();
    }
    if (lane_of_warp() == 0) open_.tail = before_;
  }

 private:
  __device__ void know_ends() {
    const Index left = stretch_.to.object - at_.object;
    next_ = 0;
    known_ = left < kTileEnds ? static_cast<int>(left) : kTileEnds;
    __syncwarp();
    for (int k = lane_of_warp(); k < known_; k += kWarp)
      tile_.ends[k] = static_cast<int>(r_.pieces.ends[at_.object + k] - stretch_.from.item);
    __syncwarp();
  }

  // Takes `run` items of one segment, which ends there if its end is known.
  __device__ void take_run(Index run) {
    State own;
    own.init();
    fold_in_turn(column_, at_.item, at_.item + run, &own);
    before_.merge(merged_by_warp(own));
    at_.item += run;
    if (next_ == known_) return;
    if (lane_of_warp() == 0) close(at_.object, before_);
    before_ = r_.pieces.begin;
    ++at_.object;
    ++next_;
  }

  // Takes as many items as there is room for, or up to the last end that is known, if other ends follow it.
  __device__ void take_tile() {
    const Index left = stretch_.to.item - at_.item;
    const int count = left < Tile::kItems ? static_cast<int>(left) : Tile::kItems;
    begin_ = static_cast<int>(at_.item - stretch_.from.item);
    Number own[kReduceTile.each];
    fetch(column_, at_.item, count, own);
    __syncwarp();
#pragma unroll
    for (int v = 0; v < kReduceTile.each; ++v) tile_.items[v * kWarp + lane_of_warp()] = own[v];
    __syncwarp();
    const int ends = static_cast<int>(partition::upper_bound(tile_.ends, next_, known_, begin_ + count)) - next_;
    const bool more = next_ + ends == known_ && at_.object + ends < stretch_.to.object;
    const int used = more ? tile_.ends[known_ - 1] - begin_ : count;
    State now;
    for (int first = 0; first <= ends; first += kWarp) now = take_parts(first + lane_of_warp(), ends, used);
    before_ = cub::ShuffleIndex<kWarp>(now, ends % kWarp, kAllLanes);
    next_ += ends;
    at_ = {at_.object + ends, at_.item + used};
  }

  // Part number `part` of a tile: up to an end, or from the last one on. Each lane calls this for another part.
  __device__ State take_parts(int part, int ends, int used) {
    const bool has = part <= ends;
    const int first = has && part > 0 ? tile_.ends[next_ + part - 1] - begin_ : 0;
    const int last = !has ? 0 : part < ends ? tile_.ends[next_ + part] - begin_ : used;
    const bool alone = last - first <= kAlone;
    State now = part == 0 ? before_ : r_.pieces.begin;
    for (int k = first; alone && k < last; ++k) take(k, &now);
    for (unsigned others = __ballot_sync(kAllLanes, !alone); others != 0; others &= others - 1) {
      const int lane = __ffs(static_cast<int>(others)) - 1;
      const State all = take_together(__shfl_sync(kAllLanes, first, lane), __shfl_sync(kAllLanes, last, lane));
      if (lane == lane_of_warp()) now.merge(all);
    }
    if (part < ends) close(at_.object + part, now);
    return now;
  }
  __device__ State take_together(int first, int last) const {
    State own;
    own.init();
    for (int k = first + lane_of_warp(); k < last; k += kWarp) take(k, &own);
    return merged_by_warp(own);
  }
  __device__ void take(int k, State* state) const {
    state->take(column_.items, tile_.items[k], column_.items.place(at_.item + k));
  }

  __device__ void close(Index segment, const State& found) const {
    if (segment == head_) {
      open_.head = found;
      open_.head_of = segment;
    } else {
      r_.write(blockIdx.y, segment, column_.items, found);
    }
  }

  const Reduction<State>& r_;
  Tile& tile_;
  const ColumnOf<Number> column_;
  Open<State>& open_;
  const Stretch stretch_;
  Place at_;
  int begin_ = 0;             // of the tile, counted from the first item of the piece
  int next_ = 0, known_ = 0;  // of the ends in the tile
  State before_;              // of the segment that is open, what has come so far in this piece
  Index head_ = -1;           // the segment that the piece begins within; -1 for none
};

template <class State, class Number>
__global__ void __launch_bounds__(kPieceThreads) reduce_pieces(const __grid_constant__ Reduction<State> r) {
  __shared__ ReduceTile<Number> tiles[kPieceThreads / kWarp];
  const Index piece = r.pieces.piece();
  if (piece < r.pieces.pieces) PieceReducer<State, Number>(r, piece, tiles + threadIdx.x / kWarp).run();
}

// A block for each column.
template <class State>
__global__ void __launch_bounds__(kCarryThreads) close_open(const __grid_constant__ Reduction<State> r) {
  carry_on(r.pieces, [&](Index piece, State before) {
    const Open<State>& found = r.pieces.open[blockIdx.x * r.pieces.pieces + piece];
    if (found.head_of < 0) return;
    before.merge(found.head);
    r.write(blockIdx.x, found.head_of, r.pieces.items, before);
  });
}

template <class Operator, bool kNotes>
void reduce_by(Device& gpu, const Request& request, const Items& items, Index columns,
               const Segments& segments, double* out) {
  using State = Noting<Operator, kNotes>;
  Reduction<State> r{cut_into_pieces<State>(request, items, segments), out};
  const Block open = room_for<Open<State>>(gpu, r.pieces.pieces * columns);
  r.pieces.open = pointer<Open<State>>(open);
  with_numbers(items, [&](auto type) {
    launch(gpu, reduce_pieces<State, typename decltype(type)::Of>, r.pieces.blocks(columns), kPieceThreads, r);
  });
  launch(gpu, close_open<State>, dim3(static_cast<unsigned>(columns)), kCarryThreads, r);
}

}  // namespace kernweave::arrays::cuda
