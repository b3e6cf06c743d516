// The strip machine: one loop over the instructions of a program, the strip in registers all the while. Included
// once per instruction set. Every row of the tables becomes a few cases of one switch; no row is named here.
#pragma once
#include "cpu/math-inl.hpp"
#include "cpu/pack-inl.hpp"
#include "kernweave/ops.hpp"
#include "kernweave/reductions.hpp"

namespace kernweave {
inline namespace KW_ISA {

// --- the cases of a row, by its class ---

#define KW_CASE(Name, shape) case code_of(Row::Name, Shape::shape):
#define KW_FOLD(Name, shape) case code_of(Row::Name, FoldShape::shape):
#define UNARY(Name, ...) \
  KW_CASE(Name, alone) map(&s, [](P x) { return op::Name::eval(x); }); break;
#define BINARY(Name, ...) \
  KW_CASE(Name, with_vector) map_vector(&s, a, [](P x, P y) { return op::Name::eval(x, y); }); break; \
  KW_CASE(Name, with_number) map_number(&s, a, [](P x, P y) { return op::Name::eval(x, y); }); break; \
  KW_CASE(Name, vector_with) map_vector(&s, a, [](P y, P x) { return op::Name::eval(x, y); }); break; \
  KW_CASE(Name, number_with) map_number(&s, a, [](P y, P x) { return op::Name::eval(x, y); }); break;
#define TERNARY(Name, ...) \
  KW_CASE(Name, alone) map_vectors(&s, a, b, [](P x, P y, P z) { return op::Name::eval(x, y, z); }); break; \
  KW_CASE(Name, second) map_vectors(&s, a, b, [](P y, P x, P z) { return op::Name::eval(x, y, z); }); break; \
  KW_CASE(Name, third) map_vectors(&s, a, b, [](P z, P x, P y) { return op::Name::eval(x, y, z); }); break;
#define FOLD1(Name, ...) \
  KW_FOLD(Name, start) map(&s, [](P) { return op::Name::template start<P>(); }); break; \
  KW_FOLD(Name, next) map_vector(&s, a, [](P x, P acc) { return op::Name::next(acc, x); }); break; \
  KW_FOLD(Name, vectors) \
    map(&s, [](P) { return op::Name::template start<P>(); }); \
    fold1(&s, a, i->width, [](P acc, Seen x, int c, int v) { return op::Name::next(acc, x.vector(c, v)); }); break; \
  KW_FOLD(Name, numbers) \
    map(&s, [](P) { return op::Name::template start<P>(); }); \
    fold1(&s, a, i->width, [](P acc, Seen x, int c, int) { return op::Name::next(acc, x.number(c)); }); break;
#define FOLD2(Name, ...) \
  KW_FOLD(Name, start) map(&s, [](P) { return op::Name::template start<P>(); }); break; \
  KW_FOLD(Name, next) map_vectors(&s, a, b, [](P x, P acc, P y) { return op::Name::next(acc, x, y); }); break; \
  KW_FOLD(Name, next_number) \
    each([&](int c, int v) { s.at[c][v] = op::Name::next(a.vector(c, v), s.at[c][v], b.number(c)); }); break; \
  KW_FOLD(Name, vector_number) \
    map(&s, [](P) { return op::Name::template start<P>(); }); \
    fold_vector_number(&s, a, b, i->width, [](P acc, P x, P y) { return op::Name::next(acc, x, y); }); break; \
  KW_FOLD(Name, number_vector) \
    map(&s, [](P) { return op::Name::template start<P>(); }); \
    fold_vector_number(&s, b, a, i->width, [](P acc, P y, P x) { return op::Name::next(acc, x, y); }); break; \
  KW_FOLD(Name, vectors) \
    map(&s, [](P) { return op::Name::template start<P>(); }); \
    fold2(&s, a, b, i->width, [](P acc, Seen x, Seen y, int c, int v) { return op::Name::next(acc, x.vector(c, v), y.vector(c, v)); }); break; \
  KW_FOLD(Name, numbers) \
    map(&s, [](P) { return op::Name::template start<P>(); }); \
    fold2(&s, a, b, i->width, [](P acc, Seen x, Seen y, int c, int) { return op::Name::next(acc, x.number(c), y.number(c)); }); break;
#define LOOP1(Name, ...) \
  KW_CASE(Name, alone) \
    own_loop(now, *i, frame.scratch, [](Read<P> x, Read<P>, P* out, int width, const int* at) { op::Name::loop(x, out, width, at); }); break;
#define LOOP2(Name, ...) \
  KW_CASE(Name, alone) \
    own_loop(now, *i, frame.scratch, [](Read<P> x, Read<P> y, P* out, int width, const int* at) { op::Name::loop(x, y, out, width, at); }); break;
#define REDUCTION(Name, ...) \
  case code_of(Reduction::Name, Weight::one): reduce<red::Name, Weight::one>(now, frame, *i, s); break; \
  case code_of(Reduction::Name, Weight::vector): reduce<red::Name, Weight::vector>(now, frame, *i, s); break; \
  case code_of(Reduction::Name, Weight::number): reduce<red::Name, Weight::number>(now, frame, *i, s); break;

template <class T>
struct Machine {
  using P = Pack<T>;
  static constexpr int W = P::kLanes;
  // Two vectors of lanes times four columns: eight results in flight hide the latency of an FMA (4 cycles, 2 a
  // cycle), and leave half of 16 registers for the arithmetic. Of 1 x 8, 2 x 4, 4 x 2, 4 x 4 and 2 x 8 no shape
  // was faster by more than 5 % with either register file (bench/notes.md).
  static constexpr int kVectors = 2;
  static constexpr int kColumns = 4;
  static constexpr int kStrip = kVectors * kColumns * W;

  struct Strip {
    P at[kColumns][kVectors];
  };

  // Calls f with constants, so that the strip never has a run-time subscript and stays in registers.
  template <class F, int... K>
  static KW_FN void for_each(F f, std::integer_sequence<int, K...>) { (f(K), ...); }
  template <class F>
  static KW_FN void columns(F f) { for_each(f, std::make_integer_sequence<int, kColumns>()); }
  template <class F>
  static KW_FN void vectors(F f) { for_each(f, std::make_integer_sequence<int, kVectors>()); }
  template <class F>
  static KW_FN void each(F f) { columns([&](int c) { vectors([&](int v) { f(c, v); }); }); }

  // An operand at the present component.
  struct Seen {
    const T* at;
    std::int64_t stride;
    std::int64_t column;
    KW_FN P vector(int c, int v) const { return P::load(at + c * column + v * W); }
    KW_FN P number(int c) const { return P::all(at[c * column]); }
    KW_FN void next() { at += stride; }
  };

  // Where the run stands.
  struct Present {
    T* base[kSpaces];
    const Instruction* loop;
    int component;
    std::int64_t column;  // the first of this strip
    std::int64_t left;    // columns of this strip and those after it
  };

  static KW_FN Seen see(const Present& now, const Operand& o) {
    return {now.base[static_cast<int>(o.space)] + o.offset + static_cast<std::int64_t>(now.component) * o.stride, o.stride, o.column};
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

  // --- folds over components ---

  template <class F>
  static KW_FN void fold1(Strip* s, Seen a, int width, F next) {
    for (int d = 0; d < width; ++d, a.next()) each([&](int c, int v) { s->at[c][v] = next(s->at[c][v], a, c, v); });
  }
  // The sum of squares of differences, say, of vectors along the lanes and numbers along the columns: the
  // strip holds all the totals, every number loaded serves all of a row or column of it.
  template <class F>
  static KW_FN void fold_vector_number(Strip* s, Seen a, Seen b, int width, F next) {
    for (int d = 0; d < width; ++d, a.next(), b.next()) {
      P x[kVectors];
      vectors([&](int v) { x[v] = a.vector(0, v); });
      columns([&](int c) {
        const P y = b.number(c);
        vectors([&](int v) { s->at[c][v] = next(s->at[c][v], x[v], y); });
      });
    }
  }
  template <class F>
  static KW_FN void fold2(Strip* s, Seen a, Seen b, int width, F next) {
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
  static void own_loop(const Present& now, const Instruction& i, void* scratch, F loop) {
    const Seen result = see(now, i.result);
    for (int c = 0; c < kColumns; ++c)
      for (int v = 0; v < kVectors; ++v) {
        P* room = static_cast<P*>(scratch);
        const Read<P> x = reader(see(now, i.a), i.a, c, v, &room), y = reader(see(now, i.b), i.b, c, v, &room);
        loop(x, y, room, i.width, i.attributes);
        for (int d = 0; d < i.width; ++d) room[d].store(const_cast<T*>(result.at) + d * result.stride + (c * kVectors + v) * W);
      }
  }

  // --- reductions ---

  // Takes the terms of the first `left` columns into the states of one component. Where all terms of the
  // strip are plain to their states, the short way.
  template <class State>
  static KW_FN void take(State* states, const Strip& s, const Strip& weights, std::int64_t left, PackIndex index, std::int64_t by_column) {
    const auto full_step = [&](int c, int v) {
      const PackIndex here{index.first + c * by_column + v * W * index.by_lane, index.by_lane};
      states[v].step(s.at[c][v], weights.at[c][v], here, P(0.0) == P(0.0));
    };
    if (left < kColumns) {
      each([&](int c, int v) { if (c < left) full_step(c, v); });
    } else if constexpr (State::kShort) {
      typename P::Mask plain = P(0.0) == P(0.0);
      each([&](int c, int v) { plain = plain && states[v].plain(s.at[c][v]); });
      if (any(!plain)) each(full_step);
      else each([&](int c, int v) { states[v].step_plain(s.at[c][v], weights.at[c][v]); });
    } else {
      State now[kVectors];
      vectors([&](int v) { now[v] = states[v]; });
      each([&](int c, int v) { now[v].step(s.at[c][v], weights.at[c][v], PackIndex{}, P(0.0) == P(0.0)); });
      vectors([&](int v) { states[v] = now[v]; });
    }
  }

  // The strip's values, weighed by each of `width` components in turn: many right-hand sides at once.
  template <template <class> class Red, Weight kWeight>
  static KW_FN void reduce(const Present& now, const Frame& frame, const Instruction& i, const Strip& s) {
    using State = Red<P>;
    const Count& count = frame.count[i.counted];
    const PackIndex index{count.first + now.column * count.by_column, count.by_lane};
    Seen w = see(now, i.b);
    char* states = static_cast<char*>(frame.states) + i.state + static_cast<std::int64_t>(now.component) * i.state_stride;
    for (int d = 0; d < i.width; ++d, w.next(), states += i.state_stride) {
      Strip weights;
      each([&](int c, int v) {
        weights.at[c][v] = kWeight == Weight::one ? P(1.0) : kWeight == Weight::vector ? w.vector(c, v) : w.number(c);
      });
      take(reinterpret_cast<State*>(states), s, weights, now.left, index, count.by_column);
    }
  }

  // --- the loop ---

  static KW_FN bool next_strip(Present* now, const Frame& frame) {
    now->left -= kColumns;
    if (now->left <= 0) return false;
    for (int k = 0; k < kSpaces; ++k) now->base[k] += frame.advance[k];
    now->column += kColumns;
    return true;
  }

  static void run(const Frame& frame) {
    Present now;
    for (int k = 0; k < kSpaces; ++k) now.base[k] = static_cast<T*>(frame.base[k]);
    now.component = 0;
    now.loop = nullptr;
    now.column = 0;
    now.left = frame.columns;
    Strip s;
    each([&](int c, int v) { s.at[c][v] = P(0.0); });
    for (const Instruction* i = frame.program;; ++i) {
      const Seen a = see(now, i->a), b = see(now, i->b);
      switch (i->code) {
        case kLoadVector: each([&](int c, int v) { s.at[c][v] = a.vector(c, v); }); break;
        case kLoadNumber: columns([&](int c) { vectors([&](int v) { s.at[c][v] = a.number(c); }); }); break;
        case kStore: each([&](int c, int v) { s.at[c][v].store(const_cast<T*>(a.at) + (c * kVectors + v) * W); }); break;
        case kLoopBegin: now.loop = i; break;
        case kLoopEnd:
          if (++now.component < now.loop->width) i = now.loop;
          else now.component = 0;
          break;
        case kStripEnd:
          if (!next_strip(&now, frame)) return;
          i = frame.program - 1;
          break;

#include "kernweave/ops.def"
#include "kernweave/reductions.def"
      }
    }
  }
};

}  // inline namespace KW_ISA
}  // namespace kernweave

#undef KW_CASE
#undef KW_FOLD
