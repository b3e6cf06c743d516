// Reductions of strips: a step that takes the strip's values into states of lanes, and its parts that fused loops use.
// Included once per instruction set.
#pragma once
#include <cstdint>
#include "cpu/fast_path-inl.hpp"
#include "cpu/machine-inl.hpp"
#include "kernweave/reductions.hpp"

namespace kernweave {
inline namespace KW_ISA {

// Accumulation: how the states of lanes take in the terms of a machine's strips, on the fast path from registers, on
// the slow one from memory.
template <class M>
struct Accumulate {
  using P = typename M::P;
  using T = typename P::Number;
  using Strip = typename M::Strip;
  using Column = typename M::Column;
  static constexpr int W = M::W, kVectors = M::kVectors, kColumns = M::kColumns;

  // The fast path of states that add up: adds terms, strip by strip, to copies of the sums. end() checks the copies
  // once; if some term was not plain, it returns false and leaves the states unchanged.
  template <class State>
  class Adder {
   public:
    KW_FN explicit Adder(State* states) : states_(states), scale_{{states[0].scale.top, states[1].scale.top}, 0.0} {
      M::vectors([&](int v) { sums_[v] = states[v].sums; });
    }
    KW_FN void add(const Strip& s, const Strip& weights) {
      M::columns([&](int c) {
        const Column shares = scale_.share({s.at[c][0], s.at[c][1]});
        State::add(shares.first, weights.at[c][0], &sums_[0]);
        State::add(shares.second, weights.at[c][1], &sums_[1]);
      });
    }
    KW_FN bool end() const {
      if (!all(states_[0].plain(sums_[0]) && states_[1].plain(sums_[1]))) return false;
      M::vectors([&](int v) { states_[v].sums = sums_[v]; });
      return true;
    }

   private:
    State* states_;
    Scale<Column> scale_;
    typename State::Sums sums_[kVectors];
  };
  // The fast path of plain sums: every finite term is plain.
  template <class L>
  class Adder<red::Sum<L>> {
   public:
    KW_FN explicit Adder(red::Sum<L>* states) : states_(states) {
      M::vectors([&](int v) { sums_[v] = L(0.0); });
    }
    KW_FN void add(const Strip& s, const Strip& weights) {
      M::each([&](int c, int v) { sums_[v] = sums_[v] + s.at[c][v] * weights.at[c][v]; });
    }
    KW_FN bool end() const {
      const L both = sums_[0] + sums_[1];
      if (!all(both - both == L(0.0))) return false;
      M::vectors([&](int v) { states_[v].total = states_[v].total + sums_[v]; });
      return true;
    }

   private:
    red::Sum<L>* states_;
    L sums_[kVectors];
  };

  // The fast path of states that keep the least term alone. The last strip may lack columns. Lanes as wide as terms
  // note the column of the first term that is less than all before. end() hands the terms over; if single terms have to
  // be looked at, it returns false and leaves the states unchanged.
  template <class State>
  class Picking {
   public:
    KW_FN explicit Picking(State* states) : states_(states), next_{} {
      M::vectors([&](int v) {
        least_[v] = states[v].least;
        column_[v] = next_;
      });
    }
    KW_FN void add(const Strip& s, std::int64_t left) {
      M::columns([&](int c) {
        if (c >= left) return;
        M::vectors([&](int v) {
          const auto less = s.at[c][v] < least_[v];
          column_[v] = less.v ? next_ : column_[v];
          least_[v] = lesser(s.at[c][v], least_[v]);
        });
        next_ += 1;
      });
    }
    // `index`: the index of the first column.
    KW_FN bool end(PackIndex index, std::int64_t by_column) const {
      bool right = states_->picks();
      M::vectors([&](int v) { right = right && states_[v].picked(least_[v]); });
      if (!right) return false;
      M::vectors([&](int v) {
        const PackIndex first{index.first + v * W * index.by_lane, index.by_lane};
        states_[v].keep(least_[v], P::Places::of(first, column_[v], by_column));
      });
      return true;
    }

   private:
    State* states_;
    P least_[kVectors];
    typename P::BitVector column_[kVectors], next_;
  };

  // Tells whether all terms are plain to their states. One comparison serves a vector of rows, by the least plain term.
  template <class State>
  static KW_FN bool all_plain(const State* states, const Strip& s) {
    typename P::Mask plain = P(0.0) == P(0.0);
    M::vectors([&](int v) {
      P term = s.at[0][v];
      M::columns([&](int c) { term = c == 0 ? term : State::less_plain(s.at[c][v], term); });
      plain = plain && states[v].plain(term);
    });
    return all(plain);
  }
  // Takes in the terms of a full strip on the fast path, if there is one. Returns false, with the states unchanged, if
  // some term is not plain to its state and cannot be picked.
  template <class State>
  static KW_FN bool take_short(State* states, const Strip& s, const Strip& weights, PackIndex index,
                               std::int64_t by_column) {
    if constexpr (State::kShort && State::kAdds) {
      Adder<State> adding(states);
      adding.add(s, weights);
      return adding.end();
    } else if constexpr (State::kShort) {
      if (!all_plain(states, s)) {
        if constexpr (State::kPicks) {
          Picking<State> picking(states);
          picking.add(s, kColumns);
          return picking.end(index, by_column);
        }
        return false;
      }
      if constexpr (State::kLooks)
        if (states->looks()) M::each([&](int c, int v) { states[v].look_at(s.at[c][v]); });
      return true;
    } else {
      State now[kVectors];
      M::vectors([&](int v) { now[v] = states[v]; });
      M::each([&](int c, int v) { now[v].step(s.at[c][v], weights.at[c][v], PackIndex{}, P(0.0) == P(0.0)); });
      M::vectors([&](int v) { states[v] = now[v]; });
      return true;
    }
  }
  // Takes in the terms of some columns that are not plain, for states that ignore plain terms. Each such term has a
  // bit, in the order in which terms lie.
  template <class State>
  static KW_FN void take_few(State* states, const Strip& s, std::int64_t left, PackIndex index,
                             std::int64_t by_column) {
    constexpr int kOfColumn = kVectors * W, kTogether = kColumns * kOfColumn <= 64 ? kColumns : 64 / kOfColumn;
    const T* const numbers = reinterpret_cast<const T*>(&s);
    for (int first = 0; first < kColumns && first < left; first += kTogether) {
      std::uint64_t few = 0;
#pragma GCC unroll 4
      for (int c = 0; c < kTogether; ++c)
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v)
          few |= static_cast<std::uint64_t>(bits_of(!states[v].plain(s.at[first + c][v]))) << (c * kOfColumn + v * W);
      if (left - first < kTogether) few &= (std::uint64_t{1} << (left - first) * kOfColumn) - 1;
      for (; few != 0; few &= few - 1) {
        const int at = __builtin_ctzll(few), row = at % kOfColumn;
        states[row / W].step_lane(row % W, numbers[first * kOfColumn + at],
                                  index.first + (first + at / kOfColumn) * by_column + row * index.by_lane);
      }
    }
  }
  template <class State>
  static KW_FN void take_one(State* state, P value, P weight, PackIndex index) {
    if constexpr (State::kShort && State::kAdds) {
      auto sums = state->sums;
      State::add(state->scale.share(value), weight, &sums);
      if (all(state->plain(sums))) {
        state->sums = sums;
        return;
      }
    }
    state->step(value, weight, index, P(0.0) == P(0.0));
  }
  template <class State>
  static KW_FN void take_each(State* states, const Strip& s, const Strip& weights, std::int64_t left, PackIndex index,
                              std::int64_t by_column) {
    for (int c = 0; c < kColumns && c < left; ++c)
      for (int v = 0; v < kVectors; ++v) {
        const PackIndex here{index.first + c * by_column + v * W * index.by_lane, index.by_lane};
        take_one(&states[v], s.at[c][v], weights.at[c][v], here);
      }
  }
};

// The reduction for many right-hand sides: weighs the strip's values by each of `width` components in turn.
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
  using Adder = typename Takes::template Adder<State>;
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
  // Takes in a full strip, which begins at `column`, from registers. Returns false, with the states unchanged, if that
  // is impossible.
  static KW_FN bool take(const Ready& i, const Frame& frame, std::int64_t column, const Strip& s) {
    const Count& count = count_of(i, frame);
    return for_weights(i, [&](State* states, const Strip& weights) {
      return Takes::take_short(states, s, weights, index_of(count, column), count.by_column);
    });
  }
  // Adds a strip, with a single weight, to sums that are checked later.
  static KW_FN void add(const Ready& i, const Strip& s, Adder* adding) {
    Strip weights;
    weights_of(i.a, i.b, &weights);
    adding->add(s, weights);
  }
  // Takes in the strip that lies in memory.
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
