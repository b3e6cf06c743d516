// States of one thread: the state of each output for its rows, and the update by a strip of terms.
#pragma once
#include "../reductions.hpp"
#include "arguments.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// Optimisation barrier: hides from the compiler how a number was computed. Returns its argument. Without the barrier,
// nvcc computes a count again from the launch's arguments for every strip, and computes for every term values that only
// a rare branch reads.
#ifdef __CUDA_ARCH__
__device__ __forceinline__ int opaque(int number) {
  asm volatile("" : "+r"(number));
  return number;
}
__device__ __forceinline__ float opaque(float number) {
  asm volatile("" : "+f"(number));
  return number;
}
__device__ __forceinline__ double opaque(double number) {
  asm volatile("" : "+d"(number));
  return number;
}
#else
template <class T>
__device__ T opaque(T number) {
  return number;
}
#endif

// A state, with storage beside it if it needs any. A state with storage points into itself, so it is copied by merging
// it into an empty state.
template <template <class> class State, class L, int kPlaces, bool kOwn = (State<L>::storage(kPlaces) > 0)>
struct StoredState {
  State<L> state;
  __device__ void init() { state.init(nullptr, kPlaces); }
  __device__ void copy(const StoredState& from) { state = from.state; }
};
template <template <class> class State, class L, int kPlaces>
struct StoredState<State, L, kPlaces, true> {
  State<L> state;
  alignas(8) char storage[State<L>::storage(kPlaces)];
  __device__ void init() { state.init(storage, kPlaces); }
  __device__ void copy(const StoredState& from) {
    init();
    state.merge(from.state, 0);
  }
};

// One output of a row: the state that terms enter (`Lane`, with row numbers of type I), and the float64 state that it
// is merged into after every tile (`Row`).
template <template <class> class State, class Number, class I, int kWidthOf, int kPlacesOf>
struct Fold {
  using L = Scalar<Number, I>;
  using Lane = StoredState<State, L, kPlacesOf>;
  using Row = StoredState<State, Scalar<double>, kPlacesOf>;
  static constexpr int kWidth = kWidthOf, kPlaces = kPlacesOf;
  static constexpr bool kAdds = State<L>::kAdds;

  Lane lane[kWidth];
  Row row[kAdds ? kWidth : 1];  // unused if states do not add up: `lane` suffices

  __device__ void init() {
#pragma unroll
    for (int w = 0; w < kWidth; ++w) {
      lane[w].init();
      if constexpr (kAdds) row[w].init();
    }
  }

  // Ends a tile: its float32 sums go over to float64, so that they stay short.
  __device__ void flush() {
    if constexpr (kAdds) {
#pragma unroll
      for (int w = 0; w < kWidth; ++w) {
        row[w].state.merge(lane[w].state, 0);
        lane[w].state.restart();
      }
    }
  }

  // Merges the state of an output's component into a state in memory.
  __device__ void merge_into(Row* total, int w) const {
    if constexpr (kAdds) total->state.merge(row[w].state, 0);
    else total->state.merge(lane[w].state, 0);
  }
};

// Slow path of a strip in which some terms are not plain: takes these terms one after the other. Each lane takes its
// own next term, so that the lanes of a warp run the same code together.
template <int kColumns, class State, class Value, class Weight, class Where>
__device__ __forceinline__ void take_some(State& state, int left, Value value, Weight weight, Where index) {
  unsigned waiting = 0;
#pragma unroll
  for (int c = 0; c < kColumns; ++c)
    if (c < left && !state.plain(value(c))) waiting |= 1u << c;
  while (waiting != 0) {
    const int next = __ffs(static_cast<int>(waiting)) - 1;
    waiting &= waiting - 1;
    auto term = value(0);
#pragma unroll
    for (int c = 1; c < kColumns; ++c) term = c == next ? value(c) : term;
    state.step_next(term, weight(0), index(next));
  }
}

// Returns the least plain term of a strip.
template <int kColumns, class State, class Value>
__device__ __forceinline__ auto least_plain_of(Value value) {
  auto least = value(0);
#pragma unroll
  for (int c = 1; c < kColumns; ++c) least = State::less_plain(value(c), least);
  return least;
}

// Slow path for every term of a strip.
template <int kColumns, bool kFull, class State, class Value, class Weight, class Where>
__device__ __forceinline__ void take_each(State& state, int left, Value value, Weight weight, Where index) {
#pragma unroll
  for (int c = 0; c < kColumns; ++c) state.step(value(c), weight(c), index(c), kFull || c < left);
}

// Fast path of states that add up: returns the sums with the strip's terms added, at the current scale.
template <int kColumns, bool kFull, class State, class Value, class Weight>
__device__ __forceinline__ auto added_plain(const State& state, int left, Value value, Weight weight) {
  auto sums = state.sums;
#pragma unroll
  for (int c = 0; c < kColumns; ++c)
    if (kFull || c < left) State::add(state.scale.share(value(c)), weight(c), &sums);
  return sums;
}
template <int kColumns, bool kFull, class State, class Value, class Weight>
__device__ __forceinline__ auto greatest_scale(int left, Value value, Weight weight) {
  auto greatest = State::scale_for(value(0), weight(0));
#pragma unroll
  for (int c = 1; c < kColumns; ++c)
    if (kFull || c < left) greatest = greater(State::scale_for(value(c), weight(c)), greatest);
  return greatest;
}

// Slow path of states that add up: adds at a scale that suits the strip's terms, else term by term. The values are
// opaque here, since otherwise the compiler would prepare this path at every strip.
template <int kColumns, bool kFull, class State, class Value, class Weight, class Where>
__device__ __forceinline__ void take_at_new_scale(State& state, int left, Value value_seen, Weight weight,
                                                  Where index) {
  const auto value = [&](int c) { return decltype(value_seen(c))::of(opaque(value_seen(c).v)); };
  state.lift(greatest_scale<kColumns, kFull, State>(left, value, weight));
  const auto sums = added_plain<kColumns, kFull>(state, left, value, weight);
  state.expect(sums);
  if (state.plain(sums)) state.sums = sums;
  else take_each<kColumns, kFull>(state, left, value, weight, index);
}

// Takes in a strip of terms of one row, of which the first `left` columns exist.
template <int kColumns, bool kFull, class State, class Value, class Weight, class Where>
__device__ __forceinline__ void take_row(State& state, int left, Value value, Weight weight, Where index) {
  if constexpr (State::kShort && State::kAdds) {
    const auto sums = added_plain<kColumns, kFull>(state, left, value, weight);
    if (state.plain(sums)) state.sums = sums;
    else take_at_new_scale<kColumns, kFull>(state, left, value, weight, index);
  } else if constexpr (State::kShort) {
    if (!state.plain(least_plain_of<kColumns, State>(value))) take_some<kColumns>(state, left, value, weight, index);
  } else {
    take_each<kColumns, kFull>(state, left, value, weight, index);
  }
}

template <int kColumns, bool kFull, int kRows, class F, class Value, class Weight, class Where>
__device__ __forceinline__ void take_strip(F (&folds)[kRows], int left, Value value, Weight weight, Where index) {
#pragma unroll
  for (int k = 0; k < kRows; ++k)
#pragma unroll
    for (int w = 0; w < F::kWidth; ++w)
      take_row<kColumns, kFull>(
          folds[k].lane[w].state, left, [&](int c) { return F::L::of(value(c, k, w).v); },
          [&](int c) { return F::L::of(weight(c, k, w).v); },
          [&](int c) { return static_cast<typename F::L::Indices>(index(c, k)); });
}

// Takes in a strip for all rows of a thread. One piece of code computes the values, whether or not all columns exist,
// so that equal values stay equal.
template <int kColumns, int kRows, class F, class Value, class Weight, class Where>
__device__ __forceinline__ void take(F (&folds)[kRows], int left, Value value, Weight weight, Where index) {
  if (kColumns == 1 || left >= kColumns) take_strip<kColumns, true>(folds, left, value, weight, index);
  else take_strip<kColumns, false>(folds, left, value, weight, index);
}

// Writes the results of a state, in the order rows (or pairs) x places x components.
template <template <class> class State, class L, int kPlaces>
__device__ void write(const StoredState<State, L, kPlaces>& stored, const Target& to, long long place, int component) {
  L values[kPlaces];
  Index indices[kPlaces];
  stored.state.finish(values, indices);
#pragma unroll
  for (int p = 0; p < kPlaces; ++p) {
    const long long at = place + to.stride * (p + static_cast<long long>(kPlaces) * component);
    if (to.values) to.values[at] = static_cast<double>(values[p].v) * to.factor;
    if (to.numbers.any()) to.numbers.put(at, indices[p]);
  }
}

// Writes the result of one single term, for outputs kept pair by pair.
template <template <class> class State, int kPlaces, class L>
__device__ void write_pair(L value, L weight, const Target& to, long long row, long long column, long long pair,
                           int component) {
  StoredState<State, L, kPlaces> stored;
  stored.init();
  stored.state.step(value, weight, pair + 1, true);
  write(stored, to, row + column * to.rows, component);
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
