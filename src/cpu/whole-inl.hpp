// Programs that are one fold over components, at most one function of it, of its product or sum with a number or a common one
// of its root, and one reduction: each such combination of rows is compiled as a loop of its own, which reads no instruction
// between one strip and the next. Included once per instruction set.
#pragma once
#include <cstdint>
#include "cpu/machine-inl.hpp"

namespace kernweave {
inline namespace KW_ISA {

template <class T>
class Wholes {
  using M = Machine<T>;
  using P = Pack<T>;
  using Strip = typename M::Strip;
  using Run = void (*)(const Frame& frame);

 public:
  // The loop for a program, if there is one.
  static Run find(const Instruction* program) {
    const Parts parts = parts_of(program);
    const Instruction& last = *parts.reduction;
    if (last.width != 1 || last.code < kFirstReduction || last.code >= kFirstMove || (&last)[1].code != kStripEnd) return nullptr;
    if (moves(program[0].a) || moves(parts.map->a)) return nullptr;
    constexpr int kSize = rows<Counter>().used;
    static constexpr Table<kSize> all = rows<Table<kSize>>();
    const std::uint16_t code = parts.map->code, map = parts.map == program ? kNoMap : is_shift(code) ? scale_of(code) : code;
    for (const Whole& w : all.at)
      if (w.fold == program[0].code && w.rooted == parts.rooted && w.map == map && w.reduction == last.code) return w.run;
    return nullptr;
  }

 private:
  static constexpr std::uint16_t kNoMap = kStripEnd;
  // A logarithm is the longest that is worth it: what takes longer hides what a step costs.
  static constexpr int kLongestWhole = 36;
  // Does an operand go on from strip to strip?
  static bool moves(const Operand& o) { return o.space == Space::sweep_panel || o.space == Space::pairs; }
  // A function of a sum is computed as one of a product is.
  static bool is_shift(std::uint16_t code) {
    bool shift = false;
#define UNARY(Name, ...) shift = shift || code == code_of(Op::Name, Shape::shifted);
#include "kernweave/ops.def"
    return shift;
  }
  static std::uint16_t scale_of(std::uint16_t shift) {
    return static_cast<std::uint16_t>(shift - static_cast<std::uint16_t>(Shape::shifted) + static_cast<std::uint16_t>(Shape::scaled));
  }
  struct Whole {
    std::uint16_t fold;
    bool rooted;
    std::uint16_t map, reduction;
    Run run;
  };

  // A program as fold, root, map, reduction; the map is the fold itself where there is none.
  struct Parts {
    bool rooted;
    const Instruction* map;
    const Instruction* reduction;
  };
  static KW_FN Parts parts_of(const Instruction* program) {
    const bool rooted = program[1].code == code_of(Op::Sqrt, Shape::alone) && program[2].code < kFirstReduction;
    const Instruction* const next = program + (rooted ? 2 : 1);
    const bool mapped = next->code < kFirstReduction;
    return {rooted, mapped ? next : program, mapped ? next + 1 : next};
  }

  // Made by the compiler, so that no code of the library's is compiled for one instruction set here.
  template <int kSize>
  struct Table {
    Whole at[kSize] = {};
    int used = 0;
    constexpr void push_back(Whole whole) { at[used++] = whole; }
  };
  struct Counter {
    int used = 0;
    constexpr void push_back(Whole) { ++used; }
  };

  // The function in between.
  struct NoMap {
    static constexpr std::uint16_t kCode = kNoMap;
    static KW_FN void apply(Strip*, typename M::Seen, bool) {}
  };
  template <class Function, Op kOp>
  struct Alone {
    static constexpr std::uint16_t kCode = code_of(kOp, Shape::alone);
    static KW_FN void apply(Strip* s, typename M::Seen, bool) { M::map(s, [](P x) { return Function::eval(x); }); }
  };
  // Of a product or a sum with a number: one multiplication and addition serves both, and changes neither.
  template <class Function, Op kOp>
  struct Affine {
    static constexpr std::uint16_t kCode = code_of(kOp, Shape::scaled);
    static KW_FN void apply(Strip* s, typename M::Seen by, bool shifts) {
      const P number = by.number(0), factor = shifts ? P(1.0) : number, summand = shifts ? number : P(-0.0);
      M::map(s, [&](P x) { return Function::eval(x * factor + summand); });
    }
  };
  struct Times {
    static constexpr std::uint16_t kCode = code_of(Op::Mult, Shape::with_number);
    static KW_FN void apply(Strip* s, typename M::Seen by, bool) { M::map_number(s, by, [](P x, P y) { return x * y; }); }
  };

  template <class Fold, bool kRooted, class Map, template <class> class State, Weight kWeight>
  __attribute__((noinline, flatten)) static void run(const Frame& frame) {
    using Reduction = typename M::template Reduction<State, kWeight>;
    const Parts parts = parts_of(frame.program);
    const Instruction &fold = frame.program[0], &map = *parts.map, &last = *parts.reduction;
    const typename M::Seen x = M::seen(frame, fold.a), by = M::seen(frame, map.a);
    const bool shifts = is_shift(map.code);
    typename M::Seen y = M::seen(frame, fold.b);
    typename M::Ready reduction = M::ready(frame, last, nullptr);
    reduction.width = 1;
    for (typename M::Run now = M::at_start(frame); now.left > 0; M::next_columns(&now)) {
      Strip s;
      M::template fold_vector_number<Fold>(&s, x, y, fold.width, [](P acc, P a, P b) { return Fold::next(acc, a, b); });
      if constexpr (kRooted) M::map(&s, [](P distance) { return sqrt(distance); });
      Map::apply(&s, by, shifts);
      if (!Reduction::take(reduction, now, s)) {
        now.memory = s;
        Reduction::take_memory(reduction, &now);
      }
      y.at += M::advance(frame, fold.b);
      reduction.b.at += M::advance(frame, last.b);
    }
  }

  // --- the table, from the rows ---

  template <class Fold, Op kFold, bool kRooted, class Map, template <class> class State, Red kRed, Weight kWeight, class Rows>
  static constexpr void add(Rows* all) {
    all->push_back({code_of(kFold, FoldShape::vector_number), kRooted, Map::kCode, code_of(kRed, kWeight), run<Fold, kRooted, Map, State, kWeight>});
  }
  template <class Fold, Op kFold, bool kRooted, class Map, class Rows>
  static constexpr void add_sums(Rows* all) {
    add<Fold, kFold, kRooted, Map, red::Sum, Red::Sum, Weight::one>(all);
    add<Fold, kFold, kRooted, Map, red::Sum, Red::Sum, Weight::number>(all);
  }
  template <class Fold, Op kFold, class Function, Op kOp, class Rows>
  static constexpr void add_function(Rows* all) {
    if constexpr (Function::eval(Counting(0)).cost <= kLongestWhole) {
      add_sums<Fold, kFold, false, Alone<Function, kOp>>(all);
      add_sums<Fold, kFold, false, Affine<Function, kOp>>(all);
    }
  }
  template <class Fold, Op kFold, class Rows>
  static constexpr void add_fold(Rows* all) {
#define UNARY(Name, ...) add_function<Fold, kFold, op::Name, Op::Name>(all);
#include "kernweave/ops.def"
#define REDUCTION(Name, ...) add_reduction<Fold, kFold, red::Name, Red::Name>(all);
#include "kernweave/reductions.def"
    add<Fold, kFold, false, NoMap, red::Sum, Red::Sum, Weight::number>(all);
    // Exponentials of a norm.
    add_sums<Fold, kFold, true, Affine<op::Exp2, Op::Exp2>>(all);
    add_sums<Fold, kFold, true, Affine<op::Exp2Minus, Op::Exp2Minus>>(all);
    add_sums<Fold, kFold, true, Alone<op::Exp2Minus, Op::Exp2Minus>>(all);
  }
  // Exponents are distances with a sign or a coefficient.
  template <class Fold, Op kFold, template <class> class State, Red kRed, class Rows>
  static constexpr void add_reduction(Rows* all) {
    add<Fold, kFold, false, NoMap, State, kRed, Weight::one>(all);
    if constexpr (State<P>::kExponents) {
      add<Fold, kFold, false, NoMap, State, kRed, Weight::number>(all);
      add<Fold, kFold, false, Alone<op::Minus, Op::Minus>, State, kRed, Weight::one>(all);
      add<Fold, kFold, false, Alone<op::Minus, Op::Minus>, State, kRed, Weight::number>(all);
      add<Fold, kFold, false, Times, State, kRed, Weight::one>(all);
      add<Fold, kFold, false, Times, State, kRed, Weight::number>(all);
    }
  }
  template <class Rows>
  static constexpr Rows rows() {
    Rows all;
#define FOLD2(Name, ...) add_fold<op::Name, Op::Name>(&all);
#include "kernweave/ops.def"
    return all;
  }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
