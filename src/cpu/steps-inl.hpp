// What a row becomes in the machine, by its class: a step for each shape its operands can have; and the table of all
// steps by their codes. Included once per instruction set.
#pragma once
#include "cpu/machine-inl.hpp"
#include "cpu/quotient-inl.hpp"
#include "cpu/screen-inl.hpp"

namespace kernweave {
inline namespace KW_ISA {

template <class T>
class Steps {
  using M = Machine<T>;
  using P = Pack<T>;
  using Strip = typename M::Strip;
  using Seen = typename M::Seen;
  using Ready = typename M::Ready;
  using Run = typename M::Run;

  // --- element-wise ---

  template <class Row, Shape kShape>
  struct Unary {
    static KW_FN void work(const Ready& i, Run*, Strip* s) {
      if constexpr (kShape == Shape::scaled) M::map_number(s, i.a, [](P x, P y) { return x * y; });
      if constexpr (kShape == Shape::shifted) M::map_number(s, i.a, [](P x, P y) { return x + y; });
      M::template map_function<Row>(s);
    }
  };

  // A row's value, whichever column of the strip it is for.
  template <class Row>
  struct InAllColumns {
    static KW_FN P value(int, P x, P y) { return value_of<Row>(x, y); }
  };

  template <class Way, Shape kShape>
  struct Binary {
    static KW_FN P value(const Ready& i, int c, int v, P own) {
      const auto f = [c](P x, P y) { return Way::value(c, x, y); };
      if constexpr (kShape == Shape::with_vector) return f(own, i.a.vector(c, v));
      if constexpr (kShape == Shape::with_number) return f(own, i.a.number(c));
      if constexpr (kShape == Shape::vector_with) return f(i.a.vector(c, v), own);
      if constexpr (kShape == Shape::number_with) return f(i.a.number(c), own);
      if constexpr (kShape == Shape::vector_number) return f(i.a.vector(c, v), i.b.number(c));
      if constexpr (kShape == Shape::number_vector) return f(i.a.number(c), i.b.vector(c, v));
      if constexpr (kShape == Shape::row_number) return f(i.a.vector(0, v), i.b.number(c));
      if constexpr (kShape == Shape::number_row) return f(i.a.number(c), i.b.vector(0, v));
      if constexpr (kShape == Shape::vectors) return f(i.a.vector(c, v), i.b.vector(c, v));
      if constexpr (kShape == Shape::with_shifted) return f(own, i.a.vector(c, v) + i.b.number(c));
      if constexpr (kShape == Shape::shifted_with) return f(i.a.vector(c, v) + i.b.number(c), own);
      if constexpr (kShape == Shape::with_scaled) return f(own, i.a.vector(c, v) * i.b.number(c));
      if constexpr (kShape == Shape::scaled_with) return f(i.a.vector(c, v) * i.b.number(c), own);
      if constexpr (kShape == Shape::own_shifted) return f(own, own + i.a.number(c));
      if constexpr (kShape == Shape::shifted_own) return f(own + i.a.number(c), own);
    }
    static KW_FN void work(const Ready& i, Run*, Strip* s) {
      const auto f = [](P x, P y) { return Way::value(0, x, y); };
      if constexpr (kShape == Shape::sum_row_number)
        sum(s, i.a, i.b, i.width, [=](P total, P x, P y) { return op::Sum::next(total, f(x, y)); });
      else if constexpr (kShape == Shape::sum_number_row)
        sum(s, i.b, i.a, i.width, [=](P total, P y, P x) { return op::Sum::next(total, f(x, y)); });
      else M::each([&](int c, int v) { s->at[c][v] = value(i, c, v, s->at[c][v]); });
    }
    template <class F>
    static KW_FN void sum(Strip* s, Seen row, Seen number, int width, F next) {
      M::fold_vector_number(s, op::Sum::start<P>(), row, number, width, next);
    }
  };

  template <class Row, Shape kShape>
  struct Ternary {
    static KW_FN P f(P x, P y, P z) { return value_of<Row>(x, y, z); }
    static KW_FN void work(const Ready& i, Run*, Strip* s) {
      if constexpr (kShape == Shape::first) M::map_vectors(s, i.a, i.b, [](P x, P y, P z) { return f(x, y, z); });
      if constexpr (kShape == Shape::second) M::map_vectors(s, i.a, i.b, [](P y, P x, P z) { return f(x, y, z); });
      if constexpr (kShape == Shape::third) M::map_vectors(s, i.a, i.b, [](P z, P x, P y) { return f(x, y, z); });
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

  // --- moves ---

  struct LoadVector {
    static KW_FN void work(const Ready& i, Run*, Strip* s) { M::map_vector(s, i.a, [](P, P y) { return y; }); }
  };
  struct LoadNumber {
    static KW_FN void work(const Ready& i, Run*, Strip* s) { M::map_number(s, i.a, [](P, P y) { return y; }); }
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

  struct Table {
    typename M::Step at[kStripEnd + 1] = {};

    template <Op kOp, template <class, Shape> class Work, class Row, int... K>
    constexpr void add(std::integer_sequence<int, K...>) {
      ((at[code_of(kOp, static_cast<Shape>(K))] = M::template step<Work<Row, static_cast<Shape>(K)>>), ...);
    }
    template <Op kOp, template <class, FoldShape> class Work, class Row, int... K>
    constexpr void add(std::integer_sequence<int, K...>) {
      ((at[code_of(kOp, static_cast<FoldShape>(K))] = M::template step<Work<Row, static_cast<FoldShape>(K)>>), ...);
    }
    template <Red kRed, template <class> class State, int... K>
    constexpr void add_reduction(std::integer_sequence<int, K...>) {
      ((at[code_of(kRed, static_cast<Weight>(K))] = M::template Reduction<State, static_cast<Weight>(K)>::step), ...);
    }
  };
  template <class Shapes, Shapes kCount>
  using Every = std::make_integer_sequence<int, static_cast<int>(kCount)>;

  template <bool kSparesDivider>
  static constexpr Table table() {
    Table all;
#define UNARY(Name, ...) all.template add<Op::Name, Unary, op::Name>(Every<Shape, Shape::of_one>());
#define BINARY(Name, ...) all.template add<Op::Name, Binary, InAllColumns<op::Name>>(Every<Shape, Shape::of_two>());
#define TERNARY(Name, ...) all.template add<Op::Name, Ternary, op::Name>(Every<Shape, Shape::of_three>());
#define FOLD1(Name, ...) all.template add<Op::Name, Fold1, op::Name>(Every<FoldShape, FoldShape::of_one>());
#define FOLD2(Name, ...) all.template add<Op::Name, Fold2, op::Name>(Every<FoldShape, FoldShape::of_two>());
#define LOOP1(Name, ...) all.at[code_of(Op::Name, Shape::alone)] = M::template step<Loop1<op::Name>>;
#define LOOP2(Name, ...) all.at[code_of(Op::Name, Shape::alone)] = M::template step<Loop2<op::Name>>;
#include "kernweave/ops.def"
    if constexpr (kSparesDivider)
      all.template add<Op::Divide, Binary, SparingDivider<T>>(Every<Shape, Shape::of_two>());
#define REDUCTION(Name, ...) all.template add_reduction<Red::Name, red::Name>(Every<Weight, Weight::count>());
#include "kernweave/reductions.def"
    all.at[kLoadVector] = M::template step<LoadVector>;
    all.at[kLoadNumber] = M::template step<LoadNumber>;
    all.at[kStore] = M::template step<Store>;
    all.at[kTellSquare] = M::template step<TellSquare>;
    all.at[kLoopBegin] = M::loop;
    all.at[kLoopEnd] = all.at[kStripEnd] = M::end;
    return all;
  }

 public:
  template <bool kSparesDivider>
  static void run(const Frame& frame) {
    static constexpr Table all = table<kSparesDivider>();
    M::run(frame, all.at);
  }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
