// Makes a row's steps for the machine, by the row's class: a step for each shape that operands can have; and the table
// of all steps by code. Included once per instruction set.
#pragma once
#include "cpu/lookup-inl.hpp"
#include "cpu/reduction-inl.hpp"
#include "cpu/screen-inl.hpp"

namespace kernweave {
inline namespace KW_ISA {

template <class T>
class StripSteps {
  using M = Machine<T>;
  using P = Pack<T>;
  using V = typename P::Vector;
  using Strip = typename M::Strip;
  using Seen = typename M::Seen;
  using Ready = typename M::Ready;
  using Run = typename M::Run;

  // --- element-wise ---

  // A row's function, written out in the step.
  template <class Row>
  struct Written {
    KW_FN explicit Written(const Ready&) {}
    KW_FN P operator()(P x, P y) const { return Row::eval(x, y); }
    static KW_FN void map(const Ready&, Strip* s) { M::template map_function<Row>(s); }
  };
  // A function that takes long is called for each vector; rows share the step around the call.
  struct Called {
    const typename M::Function function;
    KW_FN explicit Called(const Ready& i) : function(i.function) {}
    KW_FN P operator()(P x, P y) const { return P::of(function(x.v, y.v)); }
    static KW_FN void map(const Ready& i, Strip* s) {
      M::map(s, [&](P x) { return P::of(i.function(x.v, x.v)); });
    }
  };

  template <class Value>
  struct Unary {
    static KW_FN void work(const Ready& i, Run*, Strip* s) { Value::map(i, s); }
  };
  struct Scaled {
    static KW_FN void work(const Ready& i, Run*, Strip* s) { M::map_number(s, i.a, [](P x, P y) { return x * y; }); }
  };
  struct Shifted {
    static KW_FN void work(const Ready& i, Run*, Strip* s) { M::map_number(s, i.a, [](P x, P y) { return x + y; }); }
  };

  template <class Value, StepShape kShape>
  struct Binary {
    static KW_FN P value(const Value& f, const Ready& i, int c, int v, P own) {
      if constexpr (kShape == StepShape::with_vector) return f(own, i.a.vector(c, v));
      if constexpr (kShape == StepShape::with_number) return f(own, i.a.number(c));
      if constexpr (kShape == StepShape::vector_with) return f(i.a.vector(c, v), own);
      if constexpr (kShape == StepShape::number_with) return f(i.a.number(c), own);
      if constexpr (kShape == StepShape::vector_number) return f(i.a.vector(c, v), i.b.number(c));
      if constexpr (kShape == StepShape::number_vector) return f(i.a.number(c), i.b.vector(c, v));
      if constexpr (kShape == StepShape::row_number) return f(i.a.vector(0, v), i.b.number(c));
      if constexpr (kShape == StepShape::number_row) return f(i.a.number(c), i.b.vector(0, v));
      if constexpr (kShape == StepShape::vectors) return f(i.a.vector(c, v), i.b.vector(c, v));
      if constexpr (kShape == StepShape::with_shifted) return f(own, i.a.vector(c, v) + i.b.number(c));
      if constexpr (kShape == StepShape::shifted_with) return f(i.a.vector(c, v) + i.b.number(c), own);
      if constexpr (kShape == StepShape::with_scaled) return f(own, i.a.vector(c, v) * i.b.number(c));
      if constexpr (kShape == StepShape::scaled_with) return f(i.a.vector(c, v) * i.b.number(c), own);
      if constexpr (kShape == StepShape::own_shifted) return f(own, own + i.a.number(c));
      if constexpr (kShape == StepShape::shifted_own) return f(own + i.a.number(c), own);
    }
    static KW_FN void work(const Ready& i, Run*, Strip* s) {
      const Value f(i);
      if constexpr (kShape == StepShape::sum_row_number)
        sum(s, i.a, i.b, i.width, [=](P total, P x, P y) { return op::Sum::next(total, f(x, y)); });
      else if constexpr (kShape == StepShape::sum_number_row)
        sum(s, i.b, i.a, i.width, [=](P total, P y, P x) { return op::Sum::next(total, f(x, y)); });
      else M::each([&](int c, int v) { s->at[c][v] = value(f, i, c, v, s->at[c][v]); });
    }
    template <class F>
    static KW_FN void sum(Strip* s, Seen row, Seen number, int width, F next) {
      M::fold_vector_number(s, op::Sum::start<P>(), row, number, width, next);
    }
  };

  template <class Row, StepShape kShape>
  struct Ternary {
    static KW_FN P f(P x, P y, P z) { return Row::eval(x, y, z); }
    static KW_FN void work(const Ready& i, Run*, Strip* s) {
      if constexpr (kShape == StepShape::first) M::map_vectors(s, i.a, i.b, [](P x, P y, P z) { return f(x, y, z); });
      if constexpr (kShape == StepShape::second) M::map_vectors(s, i.a, i.b, [](P y, P x, P z) { return f(x, y, z); });
      if constexpr (kShape == StepShape::third) M::map_vectors(s, i.a, i.b, [](P z, P x, P y) { return f(x, y, z); });
    }
  };

  // --- folds over components ---

  template <class Row>
  static KW_FN void start(Strip* s) {
    M::map(s, [](P) { return Row::template start<P>(); });
  }

  template <class Row, FoldShape kShape>
  struct Fold1 {
    static KW_FN void work(const Ready& i, Run*, Strip* s) {
      if constexpr (kShape == FoldShape::start) start<Row>(s);
      if constexpr (kShape == FoldShape::first) M::map(s, [](P x) { return Row::next(Row::template start<P>(), x); });
      if constexpr (kShape == FoldShape::next || kShape == FoldShape::last)
        M::map_vector(s, i.a, [](P x, P acc) { return Row::next(acc, x); });
      if constexpr (kShape == FoldShape::next) M::store(*s, i.a);
      if constexpr (kShape == FoldShape::vectors)
        M::template fold1<Row>(s, i.a, i.width,
                               [](P acc, Seen x, int c, int v) { return Row::next(acc, x.vector(c, v)); });
      if constexpr (kShape == FoldShape::numbers)
        M::template fold1<Row>(s, i.a, i.width, [](P acc, Seen x, int c, int) { return Row::next(acc, x.number(c)); });
    }
  };

  template <class Row, FoldShape kShape>
  struct Fold2 {
    static constexpr bool is(FoldShape a, FoldShape b) { return kShape == a || kShape == b; }
    static KW_FN P next(P acc, P x, P y) { return Row::next(acc, x, y); }
    static KW_FN void work(const Ready& i, Run*, Strip* s) {
      if constexpr (kShape == FoldShape::start) start<Row>(s);
      if constexpr (kShape == FoldShape::first)
        M::map_vector(s, i.b, [](P x, P y) { return next(Row::template start<P>(), x, y); });
      if constexpr (kShape == FoldShape::first_number)
        M::map_number(s, i.b, [](P x, P y) { return next(Row::template start<P>(), x, y); });
      if constexpr (is(FoldShape::next, FoldShape::last))
        M::map_vectors(s, i.a, i.b, [](P x, P acc, P y) { return next(acc, x, y); });
      if constexpr (is(FoldShape::next_number, FoldShape::last_number))
        M::map_both(s, i.a, i.b, [](P x, P acc, P y) { return next(acc, x, y); });
      if constexpr (is(FoldShape::next, FoldShape::next_number)) M::store(*s, i.a);
      if constexpr (kShape == FoldShape::vector_number)
        M::fold_vector_number(s, Row::template start<P>(), i.a, i.b, i.width,
                              [](P acc, P x, P y) { return next(acc, x, y); });
      if constexpr (kShape == FoldShape::number_vector)
        M::fold_vector_number(s, Row::template start<P>(), i.b, i.a, i.width,
                              [](P acc, P y, P x) { return next(acc, x, y); });
      if constexpr (kShape == FoldShape::vectors)
        M::template fold2<Row>(s, i.a, i.b, i.width, [](P acc, Seen x, Seen y, int c, int v) {
          return next(acc, x.vector(c, v), y.vector(c, v));
        });
      if constexpr (kShape == FoldShape::numbers)
        M::template fold2<Row>(s, i.a, i.b, i.width,
                               [](P acc, Seen x, Seen y, int c, int) { return next(acc, x.number(c), y.number(c)); });
    }
  };

  // --- operations with their own loop work in memory ---

  template <class Row>
  struct Loop1 {
    static KW_FN void work(const Ready& i, Run* run, Strip*) {
      M::own_loop(i, run->frame.scratch,
                  [](Read<P> x, Read<P>, P* out, int width, const int* at) { Row::loop(x, out, width, at); });
    }
  };
  template <class Row>
  struct Loop2 {
    static KW_FN void work(const Ready& i, Run* run, Strip*) {
      M::own_loop(i, run->frame.scratch,
                  [](Read<P> x, Read<P> y, P* out, int width, const int* at) { Row::loop(x, y, out, width, at); });
    }
  };

  // A row that reads numbers of a table by place takes the strip in registers.
  struct LookUp {
    static KW_FN void work(const Ready& i, Run*, Strip* s) {
      const TableReader<T> read(i.a.numbers(0), i.width, i.from->attributes[0]);
      if (read.has_pole()) M::map(s, [&](P x) { return read.without_pole(x); });
      else M::map(s, read);
    }
  };

  // --- moves ---

  struct LoadVector {
    static KW_FN void work(const Ready& i, Run*, Strip* s) {
      M::map_vector(s, i.a, [](P, P y) { return y; });
    }
  };
  struct LoadNumber {
    static KW_FN void work(const Ready& i, Run*, Strip* s) {
      M::map_number(s, i.a, [](P, P y) { return y; });
    }
  };
  struct TellSquare {
    static KW_FN void work(const Ready& i, Run*, Strip* s) {
      M::map(s, [&](P square) { return told_square(square, i.width); });
    }
  };
  struct Store {
    static KW_FN void work(const Ready& i, Run*, Strip* s) { M::store(*s, i.a); }
  };

  // --- the table ---

  // The function that a row's steps call, if the row is too long to be written out. No lambdas: a compiler may forget
  // for which instruction set the function behind a lambda is.
  template <class Row>
  static V call_one(V x, V) {
    return Row::eval(P::of(x)).v;
  }
  template <class Row>
  static V call_two(V x, V y) {
    return Row::eval(P::of(x), P::of(y)).v;
  }
  template <class Row>
  static constexpr typename M::Function function_of_one() {
    if constexpr (kIsWritten<Row, P>) return nullptr;
    else return call_one<Row>;
  }
  template <class Row>
  static constexpr typename M::Function function_of_two() {
    if constexpr (kIsWritten<Row, P, P>) return nullptr;
    else return call_two<Row>;
  }

  struct StepTable {
    typename M::Entry at[kStripEnd + 1] = {};

    constexpr void add(std::uint16_t code, typename M::Step step, typename M::Function function = nullptr) {
      at[code] = {step, function};
    }
    template <Op kOp, class Row>
    constexpr void add_unary() {
      using Work = Unary<std::conditional_t<kIsWritten<Row, P>, Written<Row>, Called>>;
      constexpr typename M::Function kFunction = function_of_one<Row>();
      add(code_of(kOp, StepShape::alone), M::template step<Work>, kFunction);
      add(code_of(kOp, StepShape::scaled), M::template step_before<Scaled, Work>, kFunction);
      add(code_of(kOp, StepShape::shifted), M::template step_before<Shifted, Work>, kFunction);
    }
    template <Op kOp, class Row, int... K>
    constexpr void add_binary(std::integer_sequence<int, K...>) {
      using Value = std::conditional_t<kIsWritten<Row, P, P>, Written<Row>, Called>;
      (add(code_of(kOp, static_cast<StepShape>(K)), M::template step<Binary<Value, static_cast<StepShape>(K)>>,
           function_of_two<Row>()),
       ...);
    }
    template <Op kOp, class Row, int... K>
    constexpr void add_ternary(std::integer_sequence<int, K...>) {
      (add(code_of(kOp, static_cast<StepShape>(K)), M::template step<Ternary<Row, static_cast<StepShape>(K)>>), ...);
    }
    template <Op kOp, template <class, FoldShape> class Work, class Row, int... K>
    constexpr void add_fold(std::integer_sequence<int, K...>) {
      (add(code_of(kOp, static_cast<FoldShape>(K)), M::template step<Work<Row, static_cast<FoldShape>(K)>>), ...);
    }
    template <Red kRed, template <class> class State, Weight kWeight>
    constexpr void add_weighed() {
      if constexpr (takes(kRed, kWeight)) add(code_of(kRed, kWeight), StripReduction<T, State, kWeight>::step);
    }
    template <Red kRed, template <class> class State, int... K>
    constexpr void add_reduction(std::integer_sequence<int, K...>) {
      (add_weighed<kRed, State, static_cast<Weight>(K)>(), ...);
    }
  };
  template <class Shapes, Shapes kCount>
  using Every = std::make_integer_sequence<int, static_cast<int>(kCount)>;

  static constexpr StepTable table() {
    StepTable all;
#define UNARY(Name, ...) all.template add_unary<Op::Name, op::Name>();
#define BINARY(Name, ...) all.template add_binary<Op::Name, op::Name>(Every<StepShape, StepShape::of_two>());
#define TERNARY(Name, ...) all.template add_ternary<Op::Name, op::Name>(Every<StepShape, StepShape::of_three>());
#define FOLD1(Name, ...) all.template add_fold<Op::Name, Fold1, op::Name>(Every<FoldShape, FoldShape::of_one>());
#define FOLD2(Name, ...) all.template add_fold<Op::Name, Fold2, op::Name>(Every<FoldShape, FoldShape::of_two>());
#define LOOP1(Name, ...) all.add(code_of(Op::Name, StepShape::alone), M::template step<Loop1<op::Name>>);
#define LOOP2(Name, ...) all.add(code_of(Op::Name, StepShape::alone), M::template step<Loop2<op::Name>>);
#define LOOKUP(Name, ...) all.add(code_of(Op::Name, StepShape::alone), M::template step<LookUp>);
#include "kernweave/ops.def"
#define REDUCTION(Name, ...) all.template add_reduction<Red::Name, red::Name>(Every<Weight, Weight::count>());
#include "kernweave/reductions.def"
    all.add(kLoadVector, M::template step<LoadVector>);
    all.add(kLoadNumber, M::template step<LoadNumber>);
    all.add(kStore, M::template step<Store>);
    all.add(kTellSquare, M::template step<TellSquare>);
    all.add(kLoopBegin, M::loop);
    all.add(kLoopEnd, M::end);
    all.add(kStripEnd, M::end);
    return all;
  }

 public:
  static void run(const Frame& frame) {
    static constexpr StepTable all = table();
    M::run(frame, all.at);
  }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
