// The strip machine: one loop over the instructions of a program, the strip in registers all the while. Included
// once per instruction set. Every row of the tables becomes a few cases of one switch (cases-inl.hpp); no row is named here.
#pragma once
#include "cpu/math-inl.hpp"
#include "cpu/pack-inl.hpp"
#include "kernweave/counting.hpp"
#include "kernweave/ops.hpp"
#include "kernweave/reductions.hpp"
// Last: it leaves macros for the tables.
#include "cpu/cases-inl.hpp"

namespace kernweave {
inline namespace KW_ISA {

// Where an instruction is carried out. `here`, the strip stays in registers: only what is short may be, for long
// code would need the registers itself. `elsewhere`, it lies in memory meanwhile.
enum class Place { here, elsewhere };

// A logarithm is the longest that leaves registers for the strip.
constexpr int kLongestHere = 36;
constexpr Place place_of(Counting value) { return value.cost <= kLongestHere ? Place::here : Place::elsewhere; }

// A row's value for one vector. What is longer than a sine is not written out for each vector of a strip, or the machine would
// be ten times as large: it is called.
constexpr int kLongestWritten = 60;
template <class Row, class... P>
__attribute__((noinline)) auto called(P... x) { return Row::eval(x...); }
template <class Row, class... P>
KW_FN auto value_of(P... x) {
  if constexpr (Row::eval((static_cast<void>(x), Counting(0.0))...).cost > kLongestWritten) return called<Row>(x...);
  else return Row::eval(x...);
}

template <class T>
struct Machine {
  using P = Pack<T>;
  static constexpr int W = P::kLanes;
  // Two vectors of lanes times four columns: eight results in flight hide the latency of an FMA (4 cycles, 2 a
  // cycle), and leave half of 16 registers for the arithmetic. With 32 registers, sixteen results share the cost
  // of an instruction: 5 to 50 % faster (bench/notes.md).
  static constexpr int kVectors = kVectorBytes == 64 ? 4 : 2;
  static constexpr int kColumns = 4;
  static constexpr int kStrip = kVectors * kColumns * W;

  struct Strip {
    P at[kColumns][kVectors];
  };

  // What there is to do after an instruction.
  enum class Next { step, elsewhere, loop, turn, strip };

  // Calls f with constants, so that the strip never has a run-time subscript and stays in registers.
  template <class F, int... K>
  static KW_FN void for_each(F f, std::integer_sequence<int, K...>) { (f(K), ...); }
  template <class F>
  static KW_FN void columns(F f) { for_each(f, std::make_integer_sequence<int, kColumns>()); }
  template <class F>
  static KW_FN void vectors(F f) { for_each(f, std::make_integer_sequence<int, kVectors>()); }
  template <class F>
  static KW_FN void each(F f) { columns([&](int c) { vectors([&](int v) { f(c, v); }); }); }

  // An operand where it lies for the present strip. The numbers of neighbouring columns are neighbours.
  struct Seen {
    T* at;
    std::int64_t stride;  // from component to component
    std::int64_t column;  // from vector to vector
    KW_FN P vector(int c, int v) const { return P::load(at + c * column + v * W); }
    KW_FN P number(int c) const { return P::all(at[c]); }
    KW_FN void next() { at += stride; }
  };

  // An instruction made ready for a run: places instead of spaces, since to look a place up for every strip takes
  // as long as a short operation.
  struct Ready {
    std::uint16_t code;
    bool stores;
    std::int32_t width;
    Seen a, b, result;
    char* states;
    std::int64_t state_stride;
    const Instruction* from;
  };
  // A place that goes on from strip to strip.
  struct Moving {
    T** at;
    std::int64_t by;
  };

  // Where the run stands.
  struct Present {
    const Ready* program;
    const Ready* loop;
    std::int64_t component;
    std::int64_t column;  // the first of this strip
    std::int64_t left;    // columns of this strip and those after it
    const Moving* moving;
    const Moving* end_moving;
  };

  // At the present component; a program without loops knows nothing of components.
  template <bool kLoops>
  static KW_FN Seen see(const Present& now, Seen o) {
    if (kLoops) o.at += now.component * o.stride;
    return o;
  }

  // --- making ready ---

  static std::int64_t room(std::int64_t instructions) {
    return instructions * static_cast<std::int64_t>(sizeof(Ready) + 3 * sizeof(Moving));
  }
  static KW_FN Seen seen(const Frame& frame, const Operand& o) {
    return {static_cast<T*>(frame.base[static_cast<int>(o.space)]) + o.offset, o.stride, o.column};
  }
  static KW_FN std::int64_t advance(const Frame& frame, const Operand& o) { return frame.advance[static_cast<int>(o.space)]; }
  static KW_FN Ready ready(const Frame& frame, const Instruction& i) {
    return {i.code, i.stores, i.width, seen(frame, i.a), seen(frame, i.b), seen(frame, i.result), static_cast<char*>(frame.states) + i.state, i.state_stride, &i};
  }
  static KW_FN Present at_start(const Frame& frame) { return {nullptr, nullptr, 0, 0, frame.columns, nullptr, nullptr}; }
  static Present make_ready(const Frame& frame) {
    std::int64_t count = 1;
    while (frame.program[count - 1].code != kStripEnd) ++count;
    Ready* const program = static_cast<Ready*>(frame.room);
    Moving* const moving = reinterpret_cast<Moving*>(program + count);
    Moving* end = moving;
    const auto follow = [&](const Operand& o, Seen* seen) {
      if (advance(frame, o) != 0) *end++ = {&seen->at, advance(frame, o)};
    };
    for (std::int64_t k = 0; k < count; ++k) {
      const Instruction& i = frame.program[k];
      program[k] = ready(frame, i);
      follow(i.a, &program[k].a);
      follow(i.b, &program[k].b);
      follow(i.result, &program[k].result);
    }
    Present now = at_start(frame);
    now.program = program;
    now.moving = moving;
    now.end_moving = end;
    return now;
  }

  // --- element-wise ---

  template <class F>
  static KW_FN void map(Strip* s, F f) {
    each([&](int c, int v) { s->at[c][v] = f(s->at[c][v]); });
  }
  template <class F>
  static KW_FN void map_vector(Strip* s, Seen a, F f) {
    each([&](int c, int v) { s->at[c][v] = f(s->at[c][v], a.vector(c, v)); });
  }
  template <class F>
  static KW_FN void map_number(Strip* s, Seen a, F f) {
    columns([&](int c) {
      const P number = a.number(c);
      vectors([&](int v) { s->at[c][v] = f(s->at[c][v], number); });
    });
  }
  template <class F>
  static KW_FN void map_vectors(Strip* s, Seen a, Seen b, F f) {
    each([&](int c, int v) { s->at[c][v] = f(s->at[c][v], a.vector(c, v), b.vector(c, v)); });
  }

  template <class F>
  static KW_FN void map_both(Strip* s, Seen vector, Seen number, F f) {
    each([&](int c, int v) { s->at[c][v] = f(s->at[c][v], vector.vector(c, v), number.number(c)); });
  }

  // A vector that all columns share, and a number: each is loaded once.
  template <class F>
  static KW_FN void map_row(Strip* s, Seen vector, Seen number, F f) {
    P x[kVectors];
    vectors([&](int v) { x[v] = vector.vector(0, v); });
    columns([&](int c) {
      const P y = number.number(c);
      vectors([&](int v) { s->at[c][v] = f(x[v], y); });
    });
  }

  // --- folds over components ---

  template <class Op, class F>
  static KW_FN void fold1(Strip* s, Seen a, int width, F next) {
    map(s, [](P) { return Op::template start<P>(); });
    for (int d = 0; d < width; ++d, a.next()) each([&](int c, int v) { s->at[c][v] = next(s->at[c][v], a, c, v); });
  }
  // The sum of squares of differences, say, of vectors along the lanes and numbers along the columns: the
  // strip holds all the totals, every number loaded serves all of a row or column of it.
  template <class Op, class F>
  static KW_FN void fold_vector_number(Strip* s, Seen a, Seen b, int width, F next) {
    map(s, [](P) { return Op::template start<P>(); });
    for (int d = 0; d < width; ++d, a.next(), b.next()) {
      P x[kVectors];
      vectors([&](int v) { x[v] = a.vector(0, v); });
      columns([&](int c) {
        const P y = b.number(c);
        vectors([&](int v) { s->at[c][v] = next(s->at[c][v], x[v], y); });
      });
    }
  }
  template <class Op, class F>
  static KW_FN void fold2(Strip* s, Seen a, Seen b, int width, F next) {
    map(s, [](P) { return Op::template start<P>(); });
    for (int d = 0; d < width; ++d, a.next(), b.next())
      each([&](int c, int v) { s->at[c][v] = next(s->at[c][v], a, b, c, v); });
  }

  // --- operations with their own loop ---

  // An argument of one vector of lanes in column c. Numbers are spread out into `room`.
  static Read<P> reader(Seen a, const Operand& o, int c, int v, P** room) {
    if (o.vector) return {reinterpret_cast<const P*>(a.at + c * a.column + v * W), a.stride / W, o.width};
    P* at = *room;
    for (int d = 0; d < o.width; ++d, a.next()) at[d] = a.number(c);
    *room += o.width;
    return {at, 1, o.width};
  }
  template <class F>
  static void own_loop(const Ready& i, void* scratch, F loop) {
    for (int c = 0; c < kColumns; ++c)
      for (int v = 0; v < kVectors; ++v) {
        P* room = static_cast<P*>(scratch);
        const Read<P> x = reader(i.a, i.from->a, c, v, &room), y = reader(i.b, i.from->b, c, v, &room);
        loop(x, y, room, i.width, i.from->attributes);
        for (int d = 0; d < i.width; ++d) room[d].store(i.result.at + d * i.result.stride + (c * kVectors + v) * W);
      }
  }

  // --- reductions ---

  // Takes the terms of a full strip into the states of one component, the short way where there is one; says no
  // where some term is not plain to its state.
  template <class State>
  static KW_FN bool take_short(State* states, const Strip& s, const Strip& weights) {
    if constexpr (State::kShort) {
      // One comparison serves a vector of rows: that with the least plain term of its columns.
      typename P::Mask plain = P(0.0) == P(0.0);
      vectors([&](int v) {
        P term = s.at[0][v];
        columns([&](int c) { term = c == 0 ? term : State::less_plain(s.at[c][v], term); });
        plain = plain && states[v].plain(term);
      });
      if (!all(plain)) return false;
      each([&](int c, int v) { states[v].step_plain(s.at[c][v], weights.at[c][v]); });
    } else {
      State now[kVectors];
      vectors([&](int v) { now[v] = states[v]; });
      each([&](int c, int v) { now[v].step(s.at[c][v], weights.at[c][v], PackIndex{}, P(0.0) == P(0.0)); });
      vectors([&](int v) { states[v] = now[v]; });
    }
    return true;
  }
  template <class State>
  static KW_FN void take_one(State* state, P value, P weight, PackIndex index) {
    if constexpr (State::kShort)
      if (all(state->plain(value))) return state->step_plain(value, weight);
    state->step(value, weight, index, P(0.0) == P(0.0));
  }
  template <class State>
  static void take_all(State* states, const Strip& s, const Strip& weights, std::int64_t left, PackIndex index, std::int64_t by_column) {
    for (int c = 0; c < kColumns && c < left; ++c)
      for (int v = 0; v < kVectors; ++v) {
        const PackIndex here{index.first + c * by_column + v * W * index.by_lane, index.by_lane};
        take_one(&states[v], s.at[c][v], weights.at[c][v], here);
      }
  }

  template <Weight kWeight>
  static KW_FN void weights_of(Seen a, Seen b, Strip* weights) {
    if constexpr (kWeight == Weight::difference) return map_row(weights, a, b, [](P x, P y) { return x - y; });
    each([&](int c, int v) {
      weights->at[c][v] = kWeight == Weight::one ? P(1.0) : kWeight == Weight::vector ? b.vector(c, v) : b.number(c);
    });
  }

  // The strip's values, weighed by each of `width` components in turn: many right-hand sides at once.
  template <template <class> class Red, Weight kWeight, Place kPlace, bool kLoops>
  static KW_FN Next reduce(const Present& now, const Frame& frame, const Ready& i, const Strip& s) {
    using State = Red<P>;
    // Every case here costs all programs of this machine. Sums alone are worth it, where there are loops to be had as well.
    constexpr bool is_sum = State::kAdds && !State::kShort;
    if constexpr (kPlace == Place::here && kWeight == Weight::difference && !(is_sum && kLoops)) return Next::elsewhere;
    if (kPlace == Place::here && (now.left < kColumns || (State::kShort && i.width > 1))) return Next::elsewhere;
    const Count& count = frame.count[i.from->counted];
    const PackIndex index{count.first + now.column * count.by_column, count.by_lane};
    Seen a = see<kLoops>(now, i.a), b = see<kLoops>(now, i.b);
    char* states = i.states + (kLoops ? now.component * i.state_stride : 0);
    for (int d = 0; d < i.width; ++d, a.next(), b.next(), states += i.state_stride) {
      Strip weights;
      weights_of<kWeight>(a, b, &weights);
      State* const at = reinterpret_cast<State*>(states);
      if (kPlace == Place::elsewhere) take_all(at, s, weights, now.left, index, count.by_column);
      else if (!take_short(at, s, weights)) return Next::elsewhere;
    }
    return Next::step;
  }

  // --- the loop ---

  static KW_FN void next_columns(Present* now) {
    now->left -= kColumns;
    now->column += kColumns;
  }
  static KW_FN bool next_strip(Present* now) {
    next_columns(now);
    for (const Moving* m = now->moving; m != now->end_moving; ++m) *m->at += m->by;
    return now->left > 0;
  }

  static KW_FN void store(const Strip& s, Seen to) {
    each([&](int c, int v) { s.at[c][v].store(to.at + (c * kVectors + v) * W); });
  }

  // Carries out an instruction on the strip, if this is the place for it. There is no other code than these: not
  // to ask spares a comparison for each instruction.
  template <Place kPlace, bool kLoops>
  static KW_FN Next work(const Present& now, const Frame& frame, const Ready& i, Strip* s) {
    const auto a = [&] { return see<kLoops>(now, i.a); };
    const auto b = [&] { return see<kLoops>(now, i.b); };
    switch (i.code) {
#include "kernweave/ops.def"
#include "kernweave/reductions.def"
      case kLoadVector: map_vector(s, a(), [](P, P y) { return y; }); return Next::step;
      case kLoadNumber: map_number(s, a(), [](P, P y) { return y; }); return Next::step;
      case kStore: store(*s, a()); return Next::step;
      case kLoopBegin: return Next::loop;
      case kLoopEnd: return Next::turn;
      case kStripEnd: return Next::strip;
    }
    __builtin_unreachable();
  }
  // Each calls all it needs into itself, so that the strip's places are constants everywhere.
  template <bool kLoops>
  __attribute__((noinline, flatten)) static void work_elsewhere(const Present& now, const Frame& frame, const Ready& i, Strip* s) {
    work<Place::elsewhere, kLoops>(now, frame, i, s);
  }

  static void run(const Frame& frame) { frame.loops ? run_program<true>(frame) : run_program<false>(frame); }

  template <bool kLoops>
  __attribute__((noinline, flatten)) static void run_program(const Frame& frame) {
    Present now = make_ready(frame);
    Strip s;
    each([&](int c, int v) { s.at[c][v] = P(0.0); });
    for (const Ready* i = now.program;; ++i) {
      switch (work<Place::here, kLoops>(now, frame, *i, &s)) {
        case Next::elsewhere: {
          Strip memory = s;
          work_elsewhere<kLoops>(now, frame, *i, &memory);
          s = memory;
          [[fallthrough]];
        }
        case Next::step:
          if (i->stores) store(s, see<kLoops>(now, i->result));
          break;
        case Next::loop: now.loop = i; break;
        case Next::turn:
          if (++now.component < now.loop->width) i = now.loop;
          else now.component = 0;
          break;
        case Next::strip:
          if (!next_strip(&now)) return;
          i = now.program - 1;
      }
    }
  }
};

}  // inline namespace KW_ISA
}  // namespace kernweave

#undef KW_CASE
#undef KW_MAP
#undef KW_BINARY
#undef KW_TERNARY
#undef KW_FOLD
#undef KW_FOLD1
#undef KW_FOLD2
#undef KW_LOOP
#undef KW_REDUCE
