// The strip machine: a program is a chain of functions, each of which gets the strip in its arguments, that is in
// registers, works on it and calls the next. Included once per instruction set. Every row of the tables becomes a few
// such functions (steps-inl.hpp); no row is named here.
#pragma once
#include "cpu/fast_path-inl.hpp"
#include "lanes/pack-inl.hpp"
#include "kernweave/cost_lane.hpp"
#include "kernweave/ops.hpp"

namespace kernweave {
inline namespace KW_ISA {

// The largest cost, a sine's, of a function that is written out for each vector of a strip. A longer function is
// called, or the machine would be ten times as large.
constexpr int kLongestWritten = 60;
template <class Row, class... P>
constexpr int kCost = Row::eval((static_cast<void>(sizeof(P)), CostLane(0.0))...).cost;
template <class Row, class... P>
constexpr bool kIsWritten = kCost<Row, P...> <= kLongestWritten;

// The full version of a function, as its row defines it.
template <class Row>
struct Long {
  template <class P>
  static KW_FN P value(P x) {
    return Row::eval(x);
  }
};

template <class T>
struct Machine {
  using P = Pack<T>;
  static constexpr int W = P::kLanes;
  // Two vectors of lanes times four columns: eight results in flight hide the latency of an FMA (4 cycles, 2 a
  // cycle), leave half of 16 registers for the arithmetic, and are as many vectors as a call hands over in registers.
  static constexpr int kVectors = 2;
  static constexpr int kColumns = 4;
  static constexpr int kStrip = kVectors * kColumns * W;

  struct Strip {
    P at[kColumns][kVectors];
  };
  // The lane of arithmetic in step: two columns. Four columns would leave no register for intermediate results.
  using Column = Interleaved<P>;
  using Part = Interleaved<Column>;
  static_assert(kVectors == 2 && kColumns == 4, "a strip is two parts");
  static KW_FN Part part(const Strip& s, int c) { return {{s.at[c][0], s.at[c][1]}, {s.at[c + 1][0], s.at[c + 1][1]}}; }
  static KW_FN Strip strip_of(Part a, Part b) {
    return {{{a.first.first, a.first.second},
             {a.second.first, a.second.second},
             {b.first.first, b.first.second},
             {b.second.first, b.second.second}}};
  }

  // Calls f with constants, so that the strip never has a run-time subscript and stays in registers.
  template <class F, int... K>
  static KW_FN void for_each(F f, std::integer_sequence<int, K...>) {
    (f(K), ...);
  }
  template <class F>
  static KW_FN void columns(F f) {
    for_each(f, std::make_integer_sequence<int, kColumns>());
  }
  template <class F>
  static KW_FN void vectors(F f) {
    for_each(f, std::make_integer_sequence<int, kVectors>());
  }
  template <class F>
  static KW_FN void each(F f) {
    columns([&](int c) { vectors([&](int v) { f(c, v); }); });
  }

  // The address of an operand for the present strip, and distances in bytes. Numbers of adjacent columns are adjacent.
  struct Seen {
    char* at;
    std::int64_t stride;  // from component to component
    std::int64_t column;  // from vector to vector
    KW_FN T* numbers(int c) const { return reinterpret_cast<T*>(at + c * column); }
    KW_FN P vector(int c, int v) const { return P::load(numbers(c) + v * W); }
    KW_FN P number(int c) const { return P::all(reinterpret_cast<const T*>(at)[c]); }
    KW_FN Column rows() const { return {vector(0, 0), vector(0, 1)}; }
    KW_FN void next() { at += stride; }
  };
  // A pointer that moves on, from strip to strip or from turn to turn of a loop.
  struct Moving {
    char** at;
    std::int64_t by;
  };

  struct Ready;
  struct Run;
  using V = typename P::Vector;
  using Step = void (*)(const Ready* i, Run* run, V, V, V, V, V, V, V, V);
  using Function = V (*)(V x, V y);

  // A table entry of a code: its step, and the function that the step calls for each vector if rows share it.
  struct Entry {
    Step step;
    Function function;
  };

  // An instruction made ready for a run: its step, and addresses instead of spaces, since to look an address up for
  // every strip takes as long as a short operation.
  struct Ready {
    Step step;
    Function function;
    Seen a, b, result;
    char* states;
    std::int64_t state_stride;
    std::int32_t width;
    std::int32_t length;  // for a loop: instructions up to the one after the loop
    const Instruction* from;
    const Moving* moving;  // for a loop: the pointers that move on at every turn
    const Moving* end_moving;
  };

  // State of a run.
  struct Run {
    const Frame& frame;
    std::int64_t column;  // the first of this strip
    std::int64_t left;    // columns of this strip and of all later strips
    Strip memory;         // the strip, if an instruction needs it in memory
  };

  // --- the chain ---

  static KW_FN Strip strip_of(V a, V b, V c, V d, V e, V f, V g, V h) {
    return {{{P::of(a), P::of(b)}, {P::of(c), P::of(d)}, {P::of(e), P::of(f)}, {P::of(g), P::of(h)}}};
  }
  static KW_FN Strip empty() {
    Strip s;
    each([&](int c, int v) { s.at[c][v] = P(0.0); });
    return s;
  }
  // Calls the next step, as the last thing that a step does: compilers turn the call into a jump. If a compiler does
  // not, the stack grows by the length of the program.
  static KW_FN void go_on(Step next, const Ready* i, Run* run, const Strip& s) {
    return next(i, run, s.at[0][0].v, s.at[0][1].v, s.at[1][0].v, s.at[1][1].v, s.at[2][0].v, s.at[2][1].v,
                s.at[3][0].v, s.at[3][1].v);
  }
  static KW_FN void go_on(const Ready* i, Run* run, const Strip& s) { return go_on(i->step, i, run, s); }
  template <class Work>
  __attribute__((noinline, flatten)) static void step(const Ready* i, Run* run, V a, V b, V c, V d, V e, V f, V g,
                                                      V h) {
    Strip s = strip_of(a, b, c, d, e, f, g, h);
    Work::work(*i, run, &s);
    return go_on(i + 1, run, s);
  }
  // Runs two kinds of work for one instruction. The second kind has one step, whatever work comes before it.
  template <class Work, class Next>
  __attribute__((flatten)) static void step_before(const Ready* i, Run* run, V a, V b, V c, V d, V e, V f, V g, V h) {
    Strip s = strip_of(a, b, c, d, e, f, g, h);
    Work::work(*i, run, &s);
    return go_on(step<Next>, i, run, s);
  }
  static void end(const Ready*, Run*, V, V, V, V, V, V, V, V) {}
  // Runs the turns of a loop. The strip is free before, between and after the turns.
  __attribute__((flatten)) static void loop(const Ready* i, Run* run, V, V, V, V, V, V, V, V) {
    for (int turn = 0; turn < i->width; ++turn) {
      go_on(i + 1, run, empty());
      for (const Moving* m = i->moving; m != i->end_moving; ++m) *m->at += m->by;
    }
    for (const Moving* m = i->moving; m != i->end_moving; ++m) *m->at -= m->by * i->width;
    return go_on(i + i->length, run, empty());
  }

  // --- making ready ---

  static std::int64_t room(std::int64_t instructions) {
    constexpr std::size_t kOperands = 3, kPlaces = kOperands + 1;  // states go on too, from turn to turn
    return instructions * static_cast<std::int64_t>(sizeof(Ready) + (kOperands + kPlaces) * sizeof(Moving));
  }
  static KW_FN Seen seen(const Frame& frame, const Operand& o) {
    constexpr std::int64_t kBytes = sizeof(T);
    return {reinterpret_cast<char*>(static_cast<T*>(frame.base[static_cast<int>(o.space)]) + o.offset),
            o.stride * kBytes, o.column * kBytes};
  }
  static KW_FN std::int64_t advance(const Frame& frame, const Operand& o) {
    return frame.advance[static_cast<int>(o.space)] * static_cast<std::int64_t>(sizeof(T));
  }
  static KW_FN Ready ready(const Frame& frame, const Instruction& i, Entry entry) {
    return {entry.step,
            entry.function,
            seen(frame, i.a),
            seen(frame, i.b),
            seen(frame, i.result),
            static_cast<char*>(frame.states) + i.state,
            i.state_stride,
            i.width,
            0,
            &i,
            nullptr,
            nullptr};
  }
  static void follow(char** at, std::int64_t by, Moving** end) {
    if (by != 0) *(*end)++ = {at, by};
  }
  // Collects the pointers that move on from turn to turn of the loop that begins at `from`; returns their end.
  static Moving* follow_turns(Ready* from, Moving* end) {
    from->moving = end;
    Ready* i = from + 1;
    for (; i->from->code != kLoopEnd; ++i) {
      for (Seen* o : {&i->a, &i->b, &i->result}) follow(&o->at, o->stride, &end);
      follow(&i->states, i->state_stride, &end);
    }
    from->length = static_cast<std::int32_t>(i + 1 - from);
    from->end_moving = end;
    return end;
  }
  // Makes a program ready; returns the end of the pointers, behind the program, that move on from strip to strip.
  static const Moving* make_ready(const Frame& frame, const Entry* entries, Ready* program, std::int64_t count) {
    Moving* const moving = reinterpret_cast<Moving*>(program + count);
    Moving* end = moving;
    for (std::int64_t k = 0; k < count; ++k) {
      const Instruction& i = frame.program[k];
      program[k] = ready(frame, i, entries[i.code]);
      follow(&program[k].a.at, advance(frame, i.a), &end);
      follow(&program[k].b.at, advance(frame, i.b), &end);
      follow(&program[k].result.at, advance(frame, i.result), &end);
    }
    Moving* turns = end;
    for (std::int64_t k = 0; k < count; ++k)
      if (frame.program[k].code == kLoopBegin) turns = follow_turns(&program[k], turns);
    return end;
  }
  static std::int64_t length_of(const Instruction* program) {
    std::int64_t count = 1;
    while (program[count - 1].code != kStripEnd) ++count;
    return count;
  }
  static void run(const Frame& frame, const Entry* entries) {
    const std::int64_t count = length_of(frame.program);
    Ready* const program = static_cast<Ready*>(frame.room);
    const Moving* const moving = reinterpret_cast<Moving*>(program + count);
    const Moving* const end_moving = make_ready(frame, entries, program, count);
    for (Run now = {frame, 0, frame.columns, empty()}; now.left > 0; now.left -= kColumns, now.column += kColumns) {
      go_on(program, &now, empty());
      for (const Moving* m = moving; m != end_moving; ++m) *m->at += m->by;
    }
    // Compilers do not clear upper halves of vectors after steps; uncleared, they make R's BLAS up to 7 times slower.
#if KW_VECTOR_BYTES > 16
    _mm256_zeroupper();
#endif
  }

  // --- element-wise ---

  template <class F>
  static KW_FN void map(Strip* s, F f) {
    each([&](int c, int v) { s->at[c][v] = f(s->at[c][v]); });
  }
  // Applies a function in step, if it is short enough: a function longer than an exponential needs more constants than
  // 16 registers hold beside four vectors. In float64, where results take longer to come, it pays all the same.
  static constexpr int kLongestInStep = sizeof(T) == 8 || kVectorBytes == 64 ? kLongestWritten : 30;
  template <int kLength, class Way>
  static KW_FN void map_way(Strip* s) {
    if constexpr (kLength <= kLongestInStep) *s = strip_of(Way::value(part(*s, 0)), Way::value(part(*s, 2)));
    else map(s, [](P x) { return Way::value(x); });
  }
  // Takes the fast path if it suits the whole strip. The slow path gets a copy, or the strip would live in memory.
  template <class Row>
  static KW_FN void map_function(Strip* s) {
    if constexpr (FastPath<Row, T>::kShort) {
      typename FastPath<Row, T>::Look look;
      each([&](int c, int v) { look.note(s->at[c][v]); });
      if (look.all_plain()) return map_way<kCost<Row, P>, FastPath<Row, T>>(s);
      Strip copy = *s;
      map_in_memory<Row>(&copy);
      *s = copy;
    } else {
      map_way<kCost<Row, P>, Long<Row>>(s);
    }
  }
  template <class Row>
  __attribute__((noinline, flatten)) static void map_in_memory(Strip* s) {
    map(s, [](P x) { return Row::eval(x); });
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

  // Maps a vector that all columns share, and a number a column: each is loaded once.
  template <class F>
  static KW_FN void map_row(Strip* s, Seen vector, Seen number, F f) {
    P x[kVectors];
    vectors([&](int v) { x[v] = vector.vector(0, v); });
    columns([&](int c) {
      const P y = number.number(c);
      vectors([&](int v) { s->at[c][v] = f(x[v], y); });
    });
  }

  static KW_FN void store(const Strip& s, Seen to) {
    each([&](int c, int v) { s.at[c][v].store(to.numbers(0) + (c * kVectors + v) * W); });
  }

  // --- folds over components ---

  template <class Op, class F>
  static KW_FN void fold1(Strip* s, Seen a, int width, F next) {
    map(s, [](P) { return Op::template start<P>(); });
    for (int d = 0; d < width; ++d, a.next()) each([&](int c, int v) { s->at[c][v] = next(s->at[c][v], a, c, v); });
  }
  // Folds vectors along the lanes with numbers along the columns, as in a sum of squared differences. The strip holds
  // all totals, and every number loaded serves a whole row or column of the strip.
  template <class F>
  static KW_FN void fold_vector_number(Strip* s, P start, Seen a, Seen b, int width, F next) {
    // The first component is taken apart, or the start would be copied for each vector.
    map_row(s, a, b, [&](P x, P y) { return next(start, x, y); });
    a.next();
    b.next();
    go_on_folding(s, a, b, width - 1, next);
  }
  template <class F>
  static KW_FN void go_on_folding(Strip* s, Seen a, Seen b, int width, F next) {
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

  // Reads an argument of one vector of lanes in column c.
  static Read<P> reader(Seen a, const Operand& o, int c, int v) {
    return {reinterpret_cast<const P*>(a.numbers(c) + v * W), a.stride / static_cast<std::int64_t>(sizeof(P)), o.width};
  }
  // Spreads the numbers of column c out into `room`, for all vectors of the column.
  static Read<P> spread_out(Seen a, const Operand& o, int c, P** room) {
    P* const at = *room;
    if (o.vector) return {};
    for (int d = 0; d < o.width; ++d, a.next()) at[d] = a.number(c);
    *room += o.width;
    return {at, 1, o.width};
  }
  template <class F>
  static void own_loop(const Ready& i, void* scratch, F loop) {
    const Operand &a = i.from->a, &b = i.from->b;
    for (int c = 0; c < kColumns; ++c) {
      P* room = static_cast<P*>(scratch);
      const Read<P> of_a = spread_out(i.a, a, c, &room), of_b = spread_out(i.b, b, c, &room);
      for (int v = 0; v < kVectors; ++v) {
        const Read<P> x = a.vector ? reader(i.a, a, c, v) : of_a, y = b.vector ? reader(i.b, b, c, v) : of_b;
        loop(x, y, room, i.width, i.from->attributes);
        Seen to = i.result;
        for (int d = 0; d < i.width; ++d, to.next()) room[d].store(to.numbers(0) + (c * kVectors + v) * W);
      }
    }
  }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
