// Adding slices on a device. Few items are put in order by every block, a thread taking those of one number; many come
// sorted by their numbers, and pieces of them hand over what they know of their first and of their last number, as
// items of a next level. So every number's items are added in their order, and nothing depends on who comes first.
#pragma once
#include "arrays/combine.hpp"
#include "arrays/cuda/runtime.cuh"
#include "arrays/cuda/tuning.hpp"
#include "arrays/cuda/verbs.hpp"

namespace kernweave::arrays::cuda {

// An operation's neutral state, which a device cannot read where the host keeps it.
template <class Op>
struct NeutralOf {
  KW_FN static typename Op::State state() { return Op::kNeutral; }
};

// Of doubles, or of whole numbers.
template <class Op>
using FactorOf = std::conditional_t<std::is_same_v<typename Op::Value, double>, double, std::int64_t>;

// An array and a source, of whose slices a thread sees one number, its lane.
template <class Op>
struct Adding {
  using Value = typename Op::Value;
  using State = typename Op::State;
  Shape shape;
  Steps steps;
  FactorOf<Op> alpha;
  const Value* source;
  Value* array;
  int* overflow;

  struct Lane {
    Index source, array;
  };
  __device__ Lane lane(Index number) const {
    const Index column = shape.after == 1 ? 0 : number / shape.before, b = number - column * shape.before;
    return {column * steps.after + b * steps.before, column * shape.before * shape.extent + b};
  }
  __device__ State term(const Lane& lane, Index item) const {
    return Op::term(alpha, source[lane.source + item * steps.item]);
  }
  __device__ void put(const Lane& lane, int number, const State& state) const {
    Value& to = array[lane.array + static_cast<Index>(number - 1) * shape.before];
    bool large = false;
    to = Op::close(Op::combine(Op::open(to), state), &large);
    if (large) *overflow = 1;
  }
};

// A block has the items in order; its y is the place of an item, whose thread goes on if no item of the same number
// comes before.
template <class Op>
__global__ void __launch_bounds__(kAddThreads) add_few(const Adding<Op> a, const int* index, int count) {
  __shared__ int numbers[kFewItems], items[kFewItems];
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < count) {
    const int own = index[thread];
    int before = 0;
    for (int k = 0; k < count; ++k) before += index[k] < own || (index[k] == own && k < thread);
    numbers[before] = own;
    items[before] = thread;
  }
  __syncthreads();
  const int first = static_cast<int>(blockIdx.y), number = numbers[first];
  if (first > 0 && numbers[first - 1] == number) return;
  const Index at = static_cast<Index>(blockIdx.x) * kAddThreads + thread;
  if (at >= a.shape.slice()) return;
  const auto lane = a.lane(at);
  typename Op::State state = NeutralOf<Op>::state();
  for (int k = first; k < count && numbers[k] == number; ++k) state = Op::combine(state, a.term(lane, items[k]));
  a.put(lane, number, state);
}

// Sorted items of a level: at first those of the source, then what pieces hand over, `states`, each with its lanes.
template <class Op>
struct Level {
  using State = typename Op::State;
  const int* numbers;
  const int* order;
  const State* states;
  Index count, pieces;
  int* next_numbers;  // null on the last level, which has one piece
  State* next_states;
};

template <class Op>
class PieceAdder {
 public:
  using State = typename Op::State;
  __device__ PieceAdder(const Adding<Op>& a, const Level<Op>& level, Index piece, Index lane)
      : a_(a), level_(level), piece_(piece), number_(lane), lane_(a.lane(lane)) {}

  __device__ void run() {
    const Index first = partition::even_split(level_.count, level_.pieces, piece_);
    const Index last = partition::even_split(level_.count, level_.pieces, piece_ + 1);
    now_ = level_.numbers[first];
    state_ = NeutralOf<Op>::state();
    Index k = first;
    for (; k + kAddInFlight <= last; k += kAddInFlight) take<kAddInFlight>(k);
    for (; k < last; ++k) take<1>(k);
    if (!level_.next_numbers) return a_.put(lane_, now_, state_);
    if (at_head_) {
      hand_over(0);
      state_ = NeutralOf<Op>::state();
    }
    hand_over(1);
  }

 private:
  // So many items at once, whose terms are on their way together.
  template <int kCount>
  __device__ void take(Index k) {
    int numbers[kCount];
    State terms[kCount];
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      numbers[u] = level_.numbers[k + u];
      terms[u] = level_.states ? level_.states[(k + u) * a_.shape.slice() + number_]
                               : a_.term(lane_, static_cast<Index>(level_.order[k + u]) - 1);
    }
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      if (numbers[u] != now_) go_on(numbers[u]);
      state_ = Op::combine(state_, terms[u]);
    }
  }
  __device__ void go_on(int number) {
    if (at_head_ && level_.next_numbers) hand_over(0);
    else a_.put(lane_, now_, state_);
    at_head_ = false;
    now_ = number;
    state_ = NeutralOf<Op>::state();
  }
  __device__ void hand_over(int end) const {
    const Index at = 2 * piece_ + end;
    level_.next_states[at * a_.shape.slice() + number_] = state_;
    if (number_ == 0) level_.next_numbers[at] = now_;
  }

  const Adding<Op>& a_;
  const Level<Op>& level_;
  const Index piece_, number_;
  const typename Adding<Op>::Lane lane_;
  State state_;
  int now_;
  bool at_head_ = true;
};

// Threads of a block: lanes along x, pieces along y.
template <class Op>
__global__ void __launch_bounds__(kAddThreads) add_pieces(const __grid_constant__ Adding<Op> a,
                                                          const __grid_constant__ Level<Op> level) {
  const Index lane = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
  const Index piece = static_cast<Index>(blockIdx.y) * blockDim.y + threadIdx.y;
  if (lane < a.shape.slice() && piece < level.pieces) PieceAdder<Op>(a, level, piece, lane).run();
}

// How a level is cut: by sizes alone.
struct LevelCut {
  int lanes = 1;  // of a block
  Index pieces = 1;

  LevelCut(Index slice, Index items) {
    while (lanes < kAddThreads && lanes < slice) lanes *= 2;
    const Index strips = (slice + lanes - 1) / lanes, together = kAddThreads / lanes;
    const Index most = std::max<Index>(1, kMostAddBlocks * together / strips);
    if (items > kLeastAddPiece) pieces = std::min(most, (items + kLeastAddPiece / 4 - 1) / (kLeastAddPiece / 4));
  }
};

template <class Op>
void add_sorted(Device& gpu, const Adding<Op>& a, Level<Op> level) {
  using State = typename Op::State;
  const Index slice = a.shape.slice();
  Block numbers[2], states[2];  // of this level and of the next
  for (int turn = 0;; turn = 1 - turn) {
    const LevelCut cut(slice, level.count);
    level.pieces = cut.pieces;
    level.next_numbers = nullptr;
    level.next_states = nullptr;
    if (cut.pieces > 1) {
      numbers[turn] = room_for<int>(gpu, 2 * cut.pieces);
      states[turn] = room_for<State>(gpu, 2 * cut.pieces * slice);
      level.next_numbers = pointer<int>(numbers[turn]);
      level.next_states = pointer<State>(states[turn]);
    }
    const unsigned together = static_cast<unsigned>(kAddThreads / cut.lanes);
    const dim3 blocks(blocks_for(slice, cut.lanes), blocks_for(cut.pieces, together));
    add_pieces<Op><<<blocks, dim3(static_cast<unsigned>(cut.lanes), together), 0, stream_of(gpu)>>>(a, level);
    check(cudaGetLastError(), "starting a kernel");
    if (cut.pieces == 1) return;
    level = Level<Op>{level.next_numbers, nullptr, level.next_states, 2 * cut.pieces, 0, nullptr, nullptr};
  }
}

template <class Op>
void add_by(Device& gpu, const AddTask& task, const typename Op::Value* source, typename Op::Value* array,
            int* overflow) {
  const Adding<Op> a{task.shape, task.steps, static_cast<FactorOf<Op>>(task.alpha), source, array, overflow};
  const Index slice = task.shape.slice();
  if (slice == 0 || task.count == 0) return;
  if (task.count <= kFewItems)
    return launch(gpu, add_few<Op>, dim3(blocks_for(slice, kAddThreads), static_cast<unsigned>(task.count)),
                  kAddThreads, a, task.index, static_cast<int>(task.count));
  Block numbers, order;
  Level<Op> level{task.sorted_keys, task.order, nullptr, task.count, 0, nullptr, nullptr};
  if (!task.sorted_keys) {
    numbers = room_for<int>(gpu, task.count);
    order = room_for<int>(gpu, task.count);
    sort_index(gpu, task.index, task.count, task.shape.extent, pointer<int>(numbers), pointer<int>(order));
    level.numbers = pointer<int>(numbers);
    level.order = pointer<int>(order);
  }
  add_sorted(gpu, a, level);
}

}  // namespace kernweave::arrays::cuda
