// Adding slices on a device. Of few items a thread takes those of one number; many come sorted by their numbers, and
// pieces of them hand over what they know of their first and of their last number, as items of a next level. So every
// number's items are added in their order, and nothing depends on who comes first.
#pragma once
#include "arrays/index_add.hpp"
#include "arrays/cuda/counts.cuh"
#include "arrays/cuda/tuning.hpp"
#include "arrays/cuda/verbs.hpp"

namespace kernweave::arrays::cuda {

// An operation's neutral state, which a device cannot read where the host keeps it.
template <class Op>
struct NeutralOf {
  KW_FN static typename Op::State state() { return Op::kNeutral; }
};

// The type of a factor: double for doubles, std::int64_t for whole numbers.
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

// Items by their numbers, or nothing where each block sorts them.
struct SortedItems {
  const int *numbers, *order;
};

// Numbers of an index by an order.
struct Gather {
  const int *index, *order;
  int* to;
  __device__ void operator()(Index k) const { to[k] = index[order[k] - 1]; }
};

// Threads of a block: lanes along x, places of sorted items along y. A thread goes on if no item of the same number
// comes before its own.
template <class Op>
__global__ void __launch_bounds__(kAddThreads) add_few(const Adding<Op> a, const int* index, SortedItems sorted,
                                                       int count) {
  __shared__ int numbers[kFewItems], order[kFewItems];
  if (!sorted.numbers) {
    const int item = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
    if (item < count) {
      const int place = rank_of(index, count, item);
      numbers[place] = index[item];
      order[place] = item + 1;
    }
    __syncthreads();
    sorted = {numbers, order};
  }
  const Index at = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int first = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (at >= a.shape.slice() || first >= count) return;
  const int number = sorted.numbers[first];
  if (first > 0 && sorted.numbers[first - 1] == number) return;
  const auto lane = a.lane(at);
  const auto last = partition::upper_bound(sorted.numbers, first, count, number);
  typename Op::State state = NeutralOf<Op>::state();
#pragma unroll kAddInFlight
  for (Index k = first; k < last; ++k) state = Op::combine(state, a.term(lane, sorted.order[k] - 1));
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
  // Loads kCount terms at once and then combines them.
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

// Threads of a block: lanes, and pieces or places that they see together.
inline dim3 lanes_of_block(Index slice) {
  int lanes = 1;
  while (lanes < kAddThreads && lanes < slice) lanes *= 2;
  return dim3(static_cast<unsigned>(lanes), static_cast<unsigned>(kAddThreads / lanes));
}

// Counts the pieces that a level is cut into: by sizes alone.
inline Index level_pieces(Index slice, Index items, dim3 threads) {
  if (items <= kLeastAddPiece) return 1;
  const Index most = std::max<Index>(1, kMostAddBlocks * threads.y / blocks_for(slice, threads.x));
  return std::min(most, (items + kLeastAddPiece / 4 - 1) / (kLeastAddPiece / 4));
}

template <class Op>
void add_sorted(Device& gpu, const Adding<Op>& a, Level<Op> level) {
  using State = typename Op::State;
  const Index slice = a.shape.slice();
  const dim3 threads = lanes_of_block(slice);
  Block numbers[2], states[2];  // of this level and of the next
  for (int turn = 0;; turn = 1 - turn) {
    level.pieces = level_pieces(slice, level.count, threads);
    level.next_numbers = nullptr;
    level.next_states = nullptr;
    if (level.pieces > 1) {
      numbers[turn] = room_for<int>(gpu, 2 * level.pieces);
      states[turn] = room_for<State>(gpu, 2 * level.pieces * slice);
      level.next_numbers = pointer<int>(numbers[turn]);
      level.next_states = pointer<State>(states[turn]);
    }
    launch(gpu, add_pieces<Op>, dim3(blocks_for(slice, threads.x), blocks_for(level.pieces, threads.y)), threads, a,
           level);
    if (level.pieces == 1) return;
    level = Level<Op>{level.next_numbers, nullptr, level.next_states, 2 * level.pieces, 0, nullptr, nullptr};
  }
}

// An index sorted, and the items by it (order.cu).
void sort_index(Device& gpu, const int* index, Index count, Index extent, int* keys, int* order);

// Many items are sorted by their numbers, unless a plan knows the order: the index is the plan's own.
template <class Op>
void add_by(Device& gpu, const AddTask& task, const typename Op::Value* source, typename Op::Value* array,
            int* overflow) {
  const Adding<Op> a{task.how.shape, task.how.steps, static_cast<FactorOf<Op>>(task.alpha), source, array, overflow};
  const Index slice = task.how.shape.slice(), count = task.index.count;
  if (slice == 0 || count == 0) return;
  const int* const index = task.index.integers;
  Block numbers, rows;
  SortedItems sorted{nullptr, nullptr};
  if (count > kFewItems) {
    numbers = room_for<int>(gpu, count);
    int* const keys = pointer<int>(numbers);
    sorted = {keys, task.plan && task.plan_alone ? task.plan().order.integers : nullptr};
    if (const int* const order = sorted.order) {
      for_each_number(gpu, count, Gather{index, order, keys});
    } else {
      rows = room_for<int>(gpu, count);
      sorted.order = pointer<int>(rows);
      sort_index(gpu, index, count, task.how.shape.extent, keys, pointer<int>(rows));
    }
  }
  if (count > kRankedItems)
    return add_sorted(gpu, a, Level<Op>{sorted.numbers, sorted.order, nullptr, count, 0, nullptr, nullptr});
  const dim3 threads = lanes_of_block(slice);
  launch(gpu, add_few<Op>, dim3(blocks_for(slice, threads.x), blocks_for(count, threads.y)), threads, a, index, sorted,
         static_cast<int>(count));
}

}  // namespace kernweave::arrays::cuda
