// How the states of lanes take the terms of a strip in: in registers where they are plain, from memory where they are not.
// Included once per instruction set.
#pragma once
#include <cstdint>
#include "cpu/inverse-inl.hpp"
#include "kernweave/reductions.hpp"

namespace kernweave {
inline namespace KW_ISA {

// Of the strips of a machine.
template <class M>
struct Taking {
  using P = typename M::P;
  using T = typename P::Number;
  using Strip = typename M::Strip;
  static constexpr int W = M::W, kVectors = M::kVectors, kColumns = M::kColumns;

  // Are all terms plain to their states? One comparison serves a vector of rows: that with the least plain term of its columns.
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
  // Takes the terms of a full strip into the states of one component, the short way where there is one; says no, having done nothing,
  // where some term is not plain to its state.
  template <class State>
  static KW_FN bool take_short(State* states, const Strip& s, const Strip& weights) {
    if constexpr (State::kShort && State::kAdds) {
      return add_plain(states, s, weights);
    } else if constexpr (State::kShort) {
      if (!all_plain(states, s)) return false;
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
  template <class State>
  static KW_FN bool add_plain(State* states, const Strip& s, const Strip& weights) {
    typename State::Sums sums[kVectors];
    M::vectors([&](int v) { sums[v] = states[v].sums; });
    M::each([&](int c, int v) { states[v].add_plain(s.at[c][v], weights.at[c][v], &sums[v]); });
    typename P::Mask plain = P(0.0) == P(0.0);
    M::vectors([&](int v) { plain = plain && states[v].plain(sums[v]); });
    if (!all(plain)) return false;
    M::vectors([&](int v) { states[v].sums = sums[v]; });
    return true;
  }
  // Adds up the terms of a full strip, if their sums are finite and little is told against them.
  static KW_FN bool add_finite(red::Sum<P>* states, const Strip& s, const Strip& weights, P told) {
    P sums[kVectors];
    M::vectors([&](int v) { sums[v] = P(0.0); });
    M::each([&](int c, int v) { sums[v] = sums[v] + s.at[c][v] * weights.at[c][v]; });
    M::vectors([&](int v) { told = told + (sums[v] - sums[v]); });
    if (!all(abs(told) < P(kMostTold))) return false;
    M::vectors([&](int v) { states[v].total = states[v].total + sums[v]; });
    return true;
  }
  // Where a plain term changes nothing: the terms that are not, of some columns a bit each in the order in which they lie.
  template <class State>
  static KW_FN void take_few(State* states, const Strip& s, std::int64_t left, PackIndex index, std::int64_t by_column) {
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
        states[row / W].step_lane(row % W, numbers[first * kOfColumn + at], index.first + (first + at / kOfColumn) * by_column + row * index.by_lane);
      }
    }
  }
  template <class State>
  static KW_FN void take_one(State* state, P value, P weight, PackIndex index) {
    if constexpr (State::kShort && State::kAdds) {
      auto sums = state->sums;
      state->add_plain(value, weight, &sums);
      if (all(state->plain(sums))) {
        state->sums = sums;
        return;
      }
    }
    state->step(value, weight, index, P(0.0) == P(0.0));
  }
  template <class State>
  static KW_FN void take_each(State* states, const Strip& s, const Strip& weights, std::int64_t left, PackIndex index, std::int64_t by_column) {
    for (int c = 0; c < kColumns && c < left; ++c)
      for (int v = 0; v < kVectors; ++v) {
        const PackIndex here{index.first + c * by_column + v * W * index.by_lane, index.by_lane};
        take_one(&states[v], s.at[c][v], weights.at[c][v], here);
      }
  }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
