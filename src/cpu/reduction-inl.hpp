// Reductions of strips: a step that takes the strip's values into states of lanes, and what fused loops need of it.
// Included once per instruction set.
#pragma once
#include "cpu/accumulate-inl.hpp"
#include "cpu/machine-inl.hpp"

namespace kernweave {
inline namespace KW_ISA {

// Many right-hand sides: the strip's values weighed by each of `width` components in turn.
template <class T, template <class> class Red, Weight kWeight>
struct StripReduction {
  using M = Machine<T>;
  using P = Pack<T>;
  using V = typename P::Vector;
  using Strip = typename M::Strip;
  using Seen = typename M::Seen;
  using Ready = typename M::Ready;
  using Run = typename M::Run;
  using State = Red<P>;
  using Takes = Accumulate<M>;
  using Adding = typename Takes::template Adding<State>;
  using Picking = typename Takes::template Picking<State>;
  static constexpr bool kSum = std::is_same_v<State, red::Sum<P>>, kAddsShortly = State::kShort && State::kAdds;

  template <class Take>
  static KW_FN bool for_weights(const Ready& i, Take take) {
    Seen a = i.a, b = i.b;
    char* states = i.states;
    for (int d = 0; d < i.width; ++d, a.next(), b.next(), states += i.state_stride) {
      Strip weights;
      weights_of(a, b, &weights);
      if (!take(reinterpret_cast<State*>(states), weights)) return false;
    }
    return true;
  }
  static KW_FN const Count& count_of(const Ready& i, const Frame& frame) { return frame.count[i.from->counted]; }
  static KW_FN PackIndex index_of(const Count& count, std::int64_t column) {
    return {count.first + column * count.by_column, count.by_lane};
  }
  // Takes in a full strip, which begins at a column, from registers. Says no, having done nothing, where that cannot
  // be.
  static KW_FN bool take(const Ready& i, const Frame& frame, std::int64_t column, const Strip& s) {
    const Count& count = count_of(i, frame);
    return for_weights(i, [&](State* states, const Strip& weights) {
      return Takes::take_short(states, s, weights, index_of(count, column), count.by_column);
    });
  }
  // Adds a strip, with a single weight, to sums that are looked at later.
  static KW_FN void add(const Ready& i, const Strip& s, Adding* adding) {
    Strip weights;
    weights_of(i.a, i.b, &weights);
    adding->add(s, weights);
  }
  // The strip that lies in memory.
  __attribute__((noinline, flatten)) static void take_memory(const Ready& i, Run* run) {
    const Count& count = count_of(i, run->frame);
    const PackIndex index = index_of(count, run->column);
    for_weights(i, [&](State* states, const Strip& weights) {
      if constexpr (State::kShort && !State::kAdds)
        Takes::take_few(states, run->memory, run->left, index, count.by_column);
      else Takes::take_each(states, run->memory, weights, run->left, index, count.by_column);
      return true;
    });
  }

  __attribute__((flatten)) static void step(const Ready* i, Run* run, V a, V b, V c, V d, V e, V f, V g, V h) {
    const bool in_registers = run->left >= M::kColumns && !(State::kShort && i->width > 1);
    if (!in_registers || !take(*i, run->frame, run->column, M::strip_of(a, b, c, d, e, f, g, h)))
      return step_in_memory(i, run, a, b, c, d, e, f, g, h);
    return M::go_on(i + 1, run, M::strip_of(a, b, c, d, e, f, g, h));
  }
  __attribute__((noinline)) static void step_in_memory(const Ready* i, Run* run, V a, V b, V c, V d, V e, V f, V g,
                                                       V h) {
    run->memory = M::strip_of(a, b, c, d, e, f, g, h);
    take_memory(*i, run);
    return M::go_on(i + 1, run, run->memory);
  }

  static KW_FN void weights_of(Seen a, Seen b, Strip* weights) {
    if constexpr (kWeight == Weight::difference) return M::map_row(weights, a, b, [](P x, P y) { return x - y; });
    M::each([&](int c, int v) {
      weights->at[c][v] = kWeight == Weight::none ? P(1.0) : kWeight == Weight::vector ? b.vector(c, v) : b.number(c);
    });
  }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
