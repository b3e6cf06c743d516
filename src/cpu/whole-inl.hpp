// Pairs that are one fold over components, a chain of calls and one reduction: each kind of them (those of wholes.def, and any one
// function of ops.def after any fold) is compiled as a loop of its own, which reads no instruction between one strip and the next.
// Included once per instruction set.
#pragma once
#include <cstdint>
#include "cpu/machine-inl.hpp"
#include "cpu/plain-inl.hpp"
#include "cpu/screen-inl.hpp"
#include "kernweave/calls.hpp"

namespace kernweave {
inline namespace KW_ISA {

template <class T>
class Wholes {
  using M = Machine<T>;
  using P = Pack<T>;
  using Strip = typename M::Strip;
  using Seen = typename M::Seen;

 public:
  static WholeLoops all() {
    constexpr int kSize = rows<Counter>().used;
    static constexpr Table<kSize> table = rows<Table<kSize>>();
    return {table.at, kSize};
  }

 private:
  // A component that is small beside the number a fold starts with is rounded to its last place: two units at most in all.
  static constexpr int kFewStarted = 4;
  // A logarithm is the longest that is worth it: what takes longer hides what a step costs.
  static constexpr int kLongestCall = 36;

  // Made by the compiler, so that no code of the library's is compiled for one instruction set here.
  template <int kSize>
  struct Table {
    WholeLoop at[kSize] = {};
    int used = 0;
    constexpr void push_back(WholeLoop loop) { at[used++] = loop; }
  };
  struct Counter {
    int used = 0;
    constexpr void push_back(WholeLoop) { ++used; }
  };

  // --- one chain ---

  // What a call takes besides what has been found.
  struct Taken {
    P once;
    Seen row, column;

    template <int kArgument>
    KW_FN P get(const P* found, int v, int c) const {
      if constexpr (kArgument >= 0) return found[kArgument];
      else if constexpr (kArgument == kOfRow) return row.vector(0, v);
      else if constexpr (kArgument == kOfColumn) return column.number(c);
      else return once;
    }
  };

  // A last call whose short way tells where it will not do takes it, and so do such calls before.
  template <class... Calls>
  static constexpr bool last_tells() {
    bool tells = false;
    ((tells = Telling<typename Called<Calls::kOp>::Row, T>::kTells), ...);
    return tells;
  }
  struct Shortly {
    Inverses<T, M::kVectors> inverses;

    KW_FN Shortly() {}
    template <Op kOp>
    KW_FN P call(P x, P y) {
      using Row = typename Called<kOp>::Row;
      if constexpr (Telling<Row, T>::kTells) return Telling<Row, T>::value(&inverses, x);
      else return Called<kOp>::eval(x, y);
    }
  };

  // All calls, of a strip of what folds have found.
  template <class... Calls>
  struct Listed {
    static constexpr int kLength = static_cast<int>(sizeof...(Calls));
    static constexpr bool kColumns = (false || ... || Calls::template kTakes<kOfColumn>), kLastTells = last_tells<Calls...>();
  };
  template <class Calls>
  struct Work;
  template <class... Calls>
  struct Work<Chain<Calls...>> : Listed<Calls...> {
    static constexpr bool kStarts = false, kJoined = false;
    template <class Way>
    static KW_FN void work(Way* way, Strip* s, const Taken* taken, P) {
      if constexpr (sizeof...(Calls) > 0)
        M::each([&](int c, int v) {
          P found[1 + sizeof...(Calls)] = {s->at[c][v]};
          s->at[c][v] = follow<1, P, Way, Taken, Calls...>(way, found, taken, v, c);
        });
    }
  };
  // A number that is added to the fold's result first: a fold of few components starts with it.
  template <class... Calls>
  struct Work<Chain<Plus<0>, Calls...>> : Listed<Plus<0>, Calls...> {
    static_assert(!(false || ... || Calls::template kTakes<static_cast<Argument>(0)>), "what the fold has found alone is not known");
    static constexpr bool kStarts = true, kJoined = false;
    template <class Way>
    static KW_FN void work(Way* way, Strip* s, const Taken* taken, P) {
      if constexpr (sizeof...(Calls) > 0)
        M::each([&](int c, int v) {
          P found[2 + sizeof...(Calls)] = {s->at[c][v], s->at[c][v]};
          s->at[c][v] = follow<2, P, Way, Taken, Calls...>(way, found, taken + 1, v, c);
        });
    }
  };
  // One that it is taken times, or that is added: the same multiplication and addition, which changes neither.
  template <class... Calls>
  struct Work<Chain<Times<0>, Calls...>> : Listed<Times<0>, Calls...> {
    static constexpr bool kStarts = false, kJoined = true;
    template <class Way>
    static KW_FN void work(Way* way, Strip* s, const Taken* taken, P summand) {
      M::each([&](int c, int v) {
        P found[2 + sizeof...(Calls)] = {s->at[c][v], s->at[c][v] * taken[0].once + summand};
        if constexpr (sizeof...(Calls) > 0) s->at[c][v] = follow<2, P, Way, Taken, Calls...>(way, found, taken + 1, v, c);
        else s->at[c][v] = found[1];
      });
    }
  };

  // Where everything lies for a strip. The program is the fold, the calls and the reduction; a call has what it takes of a row, or of
  // no point, first, and what it takes of a column second.
  template <class Here>
  struct Places {
    const Frame& frame;
    const Instruction &fold, *const calls, &last;
    const Seen x;
    Seen y;
    const std::int64_t y_step;
    Taken taken[Here::kLength + 1];
    P summand;

    KW_FN Places(const Frame& frame, std::int64_t strip)
        : frame(frame), fold(frame.program[0]), calls(frame.program + 1), last(calls[Here::kLength]), x(M::seen(frame, fold.a)),
          y(M::seen(frame, fold.b)), y_step(M::advance(frame, fold.b)), summand(-0.0) {
      for (int k = 0; k < Here::kLength; ++k) {
        taken[k].row = M::seen(frame, calls[k].a);
        taken[k].column = M::seen(frame, calls[k].b);
        taken[k].once = taken[k].row.number(0);
      }
      if (Here::kJoined && calls[0].code == code_of(Op::Add, Shape::alone)) {
        summand = taken[0].once;
        taken[0].once = P(1.0);
      }
      go_on(strip);
    }
    KW_FN void go_on(std::int64_t strips) {
      y.at += strips * y_step;
      if constexpr (Here::kColumns)
        for (int k = 0; k < Here::kLength; ++k) taken[k].column.at += strips * M::advance(frame, calls[k].b);
    }
    template <class Fold, class Way>
    KW_FN void work(Way* way, Strip* s) const {
      const bool starts = Here::kStarts && fold.width <= kFewStarted;
      const P start = starts ? taken[0].once : Fold::template start<P>();
      M::fold_vector_number(s, start, x, y, fold.width, [](P acc, P a, P b) { return Fold::next(acc, a, b); });
      if (Here::kStarts && !starts) M::map(s, [&](P found) { return found + taken[0].once; });
      Here::work(way, s, taken, summand);
    }
  };

  template <class Reduction, class Fold, class Places>
  static KW_FN bool add_shortly(const Places& places, const typename M::Ready& reduction) {
    Shortly way;
    Strip s;
    places.template work<Fold>(&way, &s);
    return Reduction::take_finite(reduction, s, way.inverses.told());
  }
  template <class Reduction, class Fold, class Calls>
  __attribute__((noinline, flatten)) static void add_as_written(const typename M::Ready& reduction, typename M::Run* run) {
    AsWritten way;
    Places<Work<Calls>>(run->frame, run->column / M::kColumns).template work<Fold>(&way, &run->memory);
    Reduction::take_memory(reduction, run);
  }

  // Terms of a full strip are taken from registers, where that will do.
  template <class Reduction>
  static KW_FN void take(const typename M::Ready& reduction, const Strip& s, bool full, typename M::Run* now) {
    if (full && Reduction::take(reduction, s)) return;
    now->memory = s;
    Reduction::take_memory(reduction, now);
  }

  template <class Fold, class Calls, template <class> class State, Weight kWeight, bool kSummed>
  __attribute__((noinline, flatten)) static void run(const Frame& frame) {
    using Here = Work<Calls>;
    using Reduction = typename M::template Reduction<State, kWeight>;
    Places<Here> places(frame, 0);
    typename M::Ready reduction = M::ready(frame, places.last, nullptr);
    if (kWeight != Weight::difference) reduction.width = 1;
    typename M::Ready sum = kSummed ? M::ready(frame, (&places.last)[1], nullptr) : reduction;
    const std::int64_t weight_step = M::advance(frame, places.last.b);
    for (typename M::Run now = M::at_start(frame); now.left > 0; M::next_columns(&now)) {
      const bool full = now.left >= M::kColumns;
      if constexpr (Here::kLastTells && Reduction::kSum && kWeight != Weight::difference) {
        // Asked first, so that each term goes into its sum as it is found.
        if (!full || !add_shortly<Reduction, Fold>(places, reduction)) add_as_written<Reduction, Fold, Calls>(reduction, &now);
      } else {
        AsWritten way;
        Strip s;
        places.template work<Fold>(&way, &s);
        take<Reduction>(reduction, s, full, &now);
        if constexpr (kSummed) take<typename M::template Reduction<State, Weight::one>>(sum, s, full, &now);
      }
      places.go_on(1);
      reduction.b.at += weight_step;
    }
  }

  // --- the table, from the rows ---

  // `By`: the calls whose loop carries these out.
  template <Op kFold, class Calls, class By, template <class> class State, Red kRed, Weight kWeight, bool kSummed = false, class Rows>
  static constexpr void add(Rows* all) {
    constexpr auto kRun = run<Called<kFold>, By, State, kWeight, kSummed>;
    all->push_back({kFold, kRed, kWeight, kSummed, Calls::kRows, Calls::kLength, kRun, screened<kFold, Calls, State, kRun>()});
  }
  // Distances of which only the least enter.
  template <Op kFold, class Calls, template <class> class State, void (*kRun)(const Frame&)>
  static constexpr auto screened() -> decltype(kRun) {
    constexpr bool kLeast = State<P>::kShort && !State<P>::kAdds;
    if constexpr (kFold == Op::SqDist && Calls::kLength == 0 && kLeast) return Screen<T, State, kRun>::run;
    else return nullptr;
  }
  // What adds up may have weights.
  template <Op kFold, class Calls, class By, template <class> class State, Red kRed, class Rows>
  static constexpr void add_weighed(Rows* all) {
    add<kFold, Calls, By, State, kRed, Weight::one>(all);
    if constexpr (kRed == Red::Sum || State<P>::kExponents) add<kFold, Calls, By, State, kRed, Weight::number>(all);
  }
  template <Op kFold, class Calls, class By = Calls, class Rows>
  static constexpr void add_sums(Rows* all) {
    add_weighed<kFold, Calls, By, red::Sum, Red::Sum>(all);
  }

  template <Op kOp>
  static constexpr bool kShort = Called<kOp>::eval(Counting(0.0), Counting(0.0)).cost <= kLongestCall;
  template <class... Calls>
  static constexpr bool all_short(Chain<Calls...>) {
    return (true && ... && kShort<Calls::kOp>);
  }

  template <Op kFold, Op kOp, class Rows>
  static constexpr void add_function(Rows* all) {
    if constexpr (kShort<kOp>) {
      add_sums<kFold, Chain<Of<kOp, 0>>>(all);
      add_sums<kFold, Chain<Times<0>, Of<kOp, 1>>>(all);
      add_sums<kFold, Chain<Plus<0>, Of<kOp, 1>>, Chain<Times<0>, Of<kOp, 1>>>(all);
    }
  }
  // Exponents are distances with a sign or a coefficient.
  template <Op kFold, template <class> class State, Red kRed, class Rows>
  static constexpr void add_reduction(Rows* all) {
    add_weighed<kFold, Chain<>, Chain<>, State, kRed>(all);
    if constexpr (State<P>::kExponents) {
      add_weighed<kFold, Chain<Of<Op::Minus, 0>>, Chain<Of<Op::Minus, 0>>, State, kRed>(all);
      add_weighed<kFold, Chain<Times<0>>, Chain<Times<0>>, State, kRed>(all);
    }
  }
  template <Op kFold, class Rows>
  static constexpr void add_fold(Rows* all) {
#define UNARY(Name, ...) add_function<kFold, Op::Name>(all);
#include "kernweave/ops.def"
#define REDUCTION(Name, ...) add_reduction<kFold, red::Name, Red::Name>(all);
#include "kernweave/reductions.def"
    add_sums<kFold, Chain<Of<Op::Sqrt, 0>, Of<Op::Exp2Minus, 1>>>(all);
    add_sums<kFold, Chain<Of<Op::Sqrt, 0>, Times<1>, Of<Op::Exp2Minus, 2>>>(all);
  }
  template <Op kFold, class Calls, template <class> class State, Red kRed, class Rows>
  static constexpr void add_whole(Rows* all) {
    if constexpr (all_short(Calls())) add_weighed<kFold, Calls, Calls, State, kRed>(all);
  }
  template <Op kFold, class Calls, class Rows>
  static constexpr void add_slope(Rows* all) {
    add<kFold, Calls, Calls, red::Sum, Red::Sum, Weight::difference>(all);
    add<kFold, Calls, Calls, red::Sum, Red::Sum, Weight::difference, true>(all);
  }
  template <class Rows>
  static constexpr Rows rows() {
    Rows all;  // the first that fits is taken
#define WHOLE(name, fold, reduction, ...) add_whole<Op::fold, Chain<__VA_ARGS__>, red::reduction, Red::reduction>(&all);
#define SLOPE(name, fold, ...) add_slope<Op::fold, Chain<__VA_ARGS__>>(&all);
#include "kernweave/wholes.def"
#define FOLD2(Name, ...) add_fold<Op::Name>(&all);
#include "kernweave/ops.def"
    return all;
  }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
