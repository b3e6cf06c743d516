// Fused loops for pairs that are one fold over components, a chain of calls and one reduction. Each kind of fused.def
// is compiled as its own loop, which reads no instruction between strips. Included once per instruction set.
#pragma once
#include <cstdint>
#include "cpu/fast_path-inl.hpp"
#include "cpu/reduction-inl.hpp"
#include "cpu/screen-inl.hpp"
#include "cpu/steps-inl.hpp"
#include "kernweave/calls.hpp"

namespace kernweave {
inline namespace KW_ISA {

// The instruction set for old machines and for comparison has no fused loops: its pairs run as steps.
#if defined(__x86_64__) && !defined(_WIN32)
constexpr bool kHasFusedLoops = kVectorBytes > 16;
#else
constexpr bool kHasFusedLoops = true;
#endif

template <class T>
class FusedLoops {
  using M = Machine<T>;
  using P = Pack<T>;
  using Part = typename M::Part;
  using Strip = typename M::Strip;
  using Seen = typename M::Seen;

 public:
  static FusedLoopList all() {
    if constexpr (kHasFusedLoops) {
      constexpr int kSize = rows<Counter>().used;
      static constexpr Table<kSize> table = rows<Table<kSize>>();
      return {table.at, kSize};
    } else {
      return {nullptr, 0};
    }
  }

 private:
  // A table made at compile time, so that no code of the standard library is compiled for one instruction set here.
  template <int kSize>
  struct Table {
    FusedLoop at[kSize] = {};
    int used = 0;
    constexpr void push_back(FusedLoop loop) { at[used++] = loop; }
  };
  struct Counter {
    int used = 0;
    constexpr void push_back(FusedLoop) { ++used; }
  };

  // --- one chain ---

  // The arguments of a call beside earlier results. A call that looks numbers up has its table behind `row`.
  struct Taken {
    P once;
    Seen row, column;

    // Returns an argument for the part of a strip that begins at column c.
    template <int kArgument>
    KW_FN Part get(const Part* found, int, int c) const {
      if constexpr (kArgument >= 0) return found[kArgument];
      else if constexpr (kArgument == kOfTable) return found[0];
      else if constexpr (kArgument == kOfRow) return {row.rows(), row.rows()};
      else if constexpr (kArgument == kOfColumn)
        return {{column.number(c), column.number(c)}, {column.number(c + 1), column.number(c + 1)}};
      else return {{once, once}, {once, once}};
    }
  };

  // Tells whether the last call can report that its fast version was invalid. If so, all calls use the fast version.
  template <class... Calls>
  static constexpr bool last_tells() {
    bool tells = false;
    ((tells = Telling<typename Called<Calls::kOp>::Row, T>::kTells), ...);
    return tells;
  }
  struct Shortly {
    Inverses<T> inverses;

    KW_FN Shortly() {}
    template <Op kOp>
    KW_FN Part call(Part x, Part y) {
      using Row = typename Called<kOp>::Row;
      if constexpr (Telling<Row, T>::kTells) return Telling<Row, T>::value(&inverses, x);
      else return Called<kOp>::eval(x, y);
    }
  };

  // Calls, one of which looks numbers up.
  struct LookingUp {
    TableReader<T> table;

    template <Op kOp>
    KW_FN Part call(Part x, Part y) const {
      if constexpr (kOp == Op::RadialTable)
        return {{table(x.first.first), table(x.first.second)}, {table(x.second.first), table(x.second.second)}};
      else return Called<kOp>::eval(x, y);
    }
  };

  // The facts about all calls, and the calls that follow when the fold has been carried out.
  template <class... Calls>
  struct Listed {
    static constexpr int kLength = static_cast<int>(sizeof...(Calls));
    static constexpr bool kColumns = (false || ... || Calls::template kTakes<kOfColumn>),
                          kLastTells = last_tells<Calls...>(),
                          kLooksUp = (false || ... || Calls::template kTakes<kOfTable>);
    // The number of the call that looks numbers up.
    static constexpr int table_call() {
      int at = -1, number = 0;
      ((at = Calls::template kTakes<kOfTable> ? number : at, ++number), ...);
      return at;
    }
  };
  template <class Calls>
  struct Work;
  template <class... Calls>
  struct Work<Chain<Calls...>> : Listed<Calls...> {
    static constexpr bool kStarts = false;
    using Left = Chain<Calls...>;
  };
  // A chain that first adds a number to the fold's result: the fold starts with the number if the plan says so.
  template <class... Calls>
  struct Work<Chain<Plus<0>, Calls...>> : Listed<Plus<0>, Calls...> {
    static_assert(!(false || ... || Calls::template kTakes<static_cast<Argument>(0)>),
                  "what the fold has found alone is not known");
    static constexpr bool kStarts = true;
    using Left = Chain<Calls...>;
  };
  // Carries out the calls for the part of a strip that begins at `column`, given the fold's result `of_fold`.
  template <class Here, class Way, class... Calls>
  static KW_FN Part work(Way* way, Part of_fold, const Taken* taken, int column, Chain<Calls...>) {
    constexpr int kDone = Here::kStarts ? 1 : 0;
    Part found[1 + kDone + sizeof...(Calls)];
    found[0] = of_fold;
    if constexpr (Here::kStarts) found[1] = of_fold;
    if constexpr (sizeof...(Calls) > 0)
      return follow<1 + kDone, Part, Way, Taken, Calls...>(way, found, taken + kDone, 0, column);
    else return of_fold;
  }

  // The places of all values of a strip. The frame's `operands` are the fold, the calls and the reduction. In a call,
  // `a` is the argument of a row or of no point, and `b` is the argument of a column.
  template <class Here>
  struct Places {
    const Frame& frame;
    const Instruction &fold, *const calls, &last;
    const Seen x;
    Seen y;
    const std::int64_t y_step;
    Taken taken[Here::kLength + 1];

    KW_FN explicit Places(const Frame& frame)
        : frame(frame),
          fold(frame.operands[0]),
          calls(frame.operands + 1),
          last(calls[Here::kLength]),
          x(M::seen(frame, fold.a)),
          y(M::seen(frame, fold.b)),
          y_step(M::advance(frame, fold.b)) {
      for (int k = 0; k < Here::kLength; ++k) {
        taken[k].row = M::seen(frame, calls[k].a);
        taken[k].column = M::seen(frame, calls[k].b);
        taken[k].once = taken[k].row.number(0);
      }
    }
    KW_FN TableReader<T> table() const {
      const Instruction& call = calls[Here::table_call()];
      return TableReader<T>(taken[Here::table_call()].row.numbers(0), call.width, call.attributes[0]);
    }
    template <class Way>
    KW_FN Way way() const {
      if constexpr (Here::kLooksUp) return Way{table()};
      else return Way();
    }
    KW_FN void go_on(std::int64_t strips) {
      y.at += strips * y_step;
      if constexpr (Here::kColumns)
        for (int k = 0; k < Here::kLength; ++k) taken[k].column.at += strips * M::advance(frame, calls[k].b);
    }
    template <class Fold, class Way>
    KW_FN void work(Way* way, Strip* s) const {
      const bool starts = Here::kStarts && fold.starts;
      const P start = starts ? taken[0].once : Fold::template start<P>();
      M::fold_vector_number(s, start, x, y, fold.width, [](P acc, P a, P b) { return Fold::next(acc, a, b); });
      if (Here::kStarts && !starts) M::map(s, [&](P found) { return found + taken[0].once; });
      const Part one = FusedLoops::work<Here>(way, M::part(*s, 0), taken, 0, typename Here::Left());
      *s = M::strip_of(one, FusedLoops::work<Here>(way, M::part(*s, 2), taken, 2, typename Here::Left()));
    }
  };

  // Takes the terms of a full strip from registers, if possible. The memory for the other case is made in its own
  // branch, or the reduction would lie in memory throughout.
  template <class Reduction>
  static KW_FN void take(const Frame& frame, const typename M::Ready& reduction, const Strip& s, std::int64_t left) {
    if (left >= M::kColumns && Reduction::take(reduction, frame, frame.columns - left, s)) return;
    typename M::Run now = {frame, frame.columns - left, left, s};
    const typename M::Ready copy = reduction;
    Reduction::take_memory(copy, &now);
  }

  // A kind of pairs: its fold, calls, reduction and weight.
  template <class FoldOf, class Calls, template <class> class State, Weight kWeight, bool kSummed>
  struct Kind {
    using Fold = FoldOf;
    using Here = Work<Calls>;
    using Reduction = StripReduction<T, State, kWeight>;
    using Sum = StripReduction<T, State, Weight::number>;
    static constexpr bool kAlsoSummed = kSummed;
    static constexpr bool kOneWeight = kWeight != Weight::difference,
                          kTells = kOneWeight && Here::kLastTells && Reduction::kSum,
                          kPicks = Reduction::State::kPicks && !kSummed,
                          kShort = kTells || (kOneWeight && Reduction::kAddsShortly);
    using Way = std::conditional_t<Here::kLooksUp, LookingUp, std::conditional_t<kTells, Shortly, AsWritten>>;
    using PlainWay = std::conditional_t<Here::kLooksUp, LookingUp, AsWritten>;
  };

  // Takes all strips without a fast path; the last strip may not be full.
  template <class Kind>
  static KW_FN void take_all(const Frame& frame) {
    Places<typename Kind::Here> places(frame);
    typename M::Ready reduction = M::ready(frame, places.last, {});
    const typename M::Ready sum = Kind::kAlsoSummed ? M::ready(frame, (&places.last)[1], {}) : reduction;
    const std::int64_t weight_step = M::advance(frame, places.last.b);
    if (Kind::kOneWeight) reduction.width = 1;
    for (std::int64_t left = frame.columns; left > 0;
         left -= M::kColumns, places.go_on(1), reduction.b.at += weight_step) {
      auto way = places.template way<typename Kind::PlainWay>();
      Strip s;
      places.template work<typename Kind::Fold>(&way, &s);
      take<typename Kind::Reduction>(frame, reduction, s, left);
      if constexpr (Kind::kAlsoSummed) take<typename Kind::Sum>(frame, sum, s, left);
    }
  }

  // Takes all strips into a reduction that keeps the least term alone. Returns false if the fast path was invalid.
  template <class Kind>
  static KW_FN bool pick_all(const Frame& frame) {
    using Reduction = typename Kind::Reduction;
    Places<typename Kind::Here> places(frame);
    typename M::Ready reduction = M::ready(frame, places.last, {});
    reduction.width = 1;
    auto way = places.template way<typename Kind::PlainWay>();
    Strip s;
    typename Reduction::Picking picking(reinterpret_cast<typename Reduction::State*>(reduction.states));
    std::int64_t left = frame.columns;
    for (; left >= M::kColumns; left -= M::kColumns, places.go_on(1)) {
      places.template work<typename Kind::Fold>(&way, &s);
      picking.add(s, M::kColumns);
    }
    if (left > 0) {
      places.template work<typename Kind::Fold>(&way, &s);
      picking.add(s, left);
    }
    const Count& count = Reduction::count_of(reduction, frame);
    return picking.end(Reduction::index_of(count, 0), count.by_column);
  }

  // Adds full strips to sums with one weight, by the fast path, and moves all places behind them. Tells whether the
  // fast path was valid.
  static KW_FN bool well_told(const AsWritten&) { return true; }
  static KW_FN bool well_told(const LookingUp&) { return true; }
  static KW_FN bool well_told(const Shortly& way) { return way.inverses.well_told(); }
  template <class Kind>
  static KW_FN bool add_shortly(Places<typename Kind::Here>* places, typename M::Ready* reduction,
                                std::int64_t weight_step, std::int64_t strips) {
    typename Kind::Reduction::Adder adding(reinterpret_cast<typename Kind::Reduction::State*>(reduction->states));
    auto way = places->template way<typename Kind::Way>();
    for (; strips > 0; --strips, places->go_on(1), reduction->b.at += weight_step) {
      Strip s;
      places->template work<typename Kind::Fold>(&way, &s);
      Kind::Reduction::add(*reduction, s, &adding);
    }
    return well_told(way) && adding.end();
  }
  // Runs the program of steps for some strips.
  __attribute__((noinline)) static void run_steps(const Frame& frame, std::int64_t first, std::int64_t end) {
    Frame some = frame;
    for (int k = 0; k < kSpaces; ++k) some.base[k] = static_cast<T*>(frame.base[k]) + first * frame.advance[k];
    for (Count& count : some.count) count.first += first * M::kColumns * count.by_column;
    some.columns = least(end * M::kColumns, frame.columns) - first * M::kColumns;
    StripSteps<T>::run(some);
  }
  // Validity is checked once per 8 strips, since a check takes as long as half a strip of the shortest terms. After a
  // failure the strips are redone step by step, and the next check is of one strip alone. Each further failure doubles
  // the number of strips that run as steps (back-off): the maximum of a logsumexp may keep rising. A reduction that has
  // a scale to find begins with a check of one strip.
  static constexpr std::int64_t kTogether = 8;
  static KW_FN std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
  static KW_FN std::int64_t most(std::int64_t a, std::int64_t b) { return a < b ? b : a; }

  template <class Fold, class Calls, template <class> class State, Weight kWeight, bool kSummed>
  __attribute__((noinline, flatten)) static void run(const Frame& frame) {
    using Kind = FusedLoops::Kind<Fold, Calls, State, kWeight, kSummed>;
    if constexpr (Kind::Here::kLooksUp)
      if (Places<typename Kind::Here>(frame).table().has_pole()) return StripSteps<T>::run(frame);
    if constexpr (Kind::kShort) {
      const std::int64_t full = frame.columns / M::kColumns;
      Places<typename Kind::Here> places(frame);
      typename M::Ready reduction = M::ready(frame, places.last, {});
      const std::int64_t weight_step = M::advance(frame, places.last.b);
      std::int64_t together = Kind::kTells ? kTogether : 1, wary = 1;
      for (std::int64_t first = 0; first < full;) {
        const std::int64_t tried = least(first + together, full);
        std::int64_t end = tried;
        if (add_shortly<Kind>(&places, &reduction, weight_step, tried - first)) {
          if (together == kTogether) wary = 1;
          together = kTogether;
        } else {
          wary = most(wary, together);
          end = least(first + wary, full);
          run_steps(frame, first, end);
          places.go_on(end - tried);
          reduction.b.at += (end - tried) * weight_step;
          wary += wary;
          together = 1;
        }
        first = end;
      }
      if (full * M::kColumns < frame.columns) run_steps(frame, full, full + 1);
    } else {
      if constexpr (Kind::kPicks)
        if (pick_all<Kind>(frame)) return;
      take_all<Kind>(frame);
    }
  }

  // --- the table, from the rows ---

  template <Op kFold, class Calls, template <class> class State, Red kRed, Weight kWeight, bool kSummed = false,
            class Rows>
  static constexpr void add(Rows* all) {
    constexpr auto kRun = run<Called<kFold>, Calls, State, kWeight, kSummed>;
    all->push_back(
        {kFold, kRed, kWeight, kSummed, Calls::kRows, Calls::kLength, kRun, screened<kFold, Calls, State, kRun>()});
  }
  // Returns the screened loop, if distances are folded and only the least enter; else null.
  template <Op kFold, class Calls, template <class> class State, void (*kRun)(const Frame&)>
  static constexpr auto screened() -> decltype(kRun) {
    constexpr bool kLeast = State<P>::kShort && !State<P>::kAdds;
    if constexpr (kFold == Op::SqDist && Calls::kLength == 0 && kLeast) return Screen<T, State, kRun>::run;
    else return nullptr;
  }

  template <Op kFold, class Calls, template <class> class State, Red kRed, class Rows>
  static constexpr void add_row(Rows* all) {
    if constexpr (takes(kRed, Weight::none)) add<kFold, Calls, State, kRed, Weight::none>(all);
    if constexpr (takes(kRed, Weight::number)) add<kFold, Calls, State, kRed, Weight::number>(all);
  }
  template <Op kFold, class Calls, class Rows>
  static constexpr void add_slope(Rows* all) {
    add<kFold, Calls, red::Sum, Red::Sum, Weight::difference>(all);
    add<kFold, Calls, red::Sum, Red::Sum, Weight::difference, true>(all);
  }
  template <class Rows>
  static constexpr Rows rows() {
    Rows all;
#define FUSED(name, fold, reduction, ...) add_row<Op::fold, __VA_ARGS__, red::reduction, Red::reduction>(&all);
#define FUSED_CPU FUSED
#define SLOPE(name, fold, ...) add_slope<Op::fold, __VA_ARGS__>(&all);
#include "kernweave/fused.def"
    return all;
  }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
