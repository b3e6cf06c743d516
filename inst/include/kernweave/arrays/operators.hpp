// The operators that reduce and scan arrays: the states of the reductions (../reductions.hpp), one lane wide, taking
// numbers one by one. An operator has
//   init()               the neutral element
//   take(value, place)   takes in an item; `place` is its number, from 1
//   merge(later)         takes in the state of an operator that has taken later items
//   finish(values)       writes kResults numbers
// and a number kWide: so many copies of it fold a long run in turn. Knows no engine.
#pragma once
#include "../red/aggregates.hpp"
#include "../red/logsumexp.hpp"
#include "../red/min_argmin.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace operators {

// The defaults of an operator's properties.
struct OperatorDefaults {
  static constexpr int kResults = 1, kWide = 1;
  static constexpr bool kAddsOnly = false;       // merging is as cheap as taking, and waits for no comparison
  static constexpr bool kReadsIntegers = false;  // has take(int, place) too
};

using Lane = Scalar<double>;
using WholeLane = Scalar<Index>;

// An operator of one state: items are multiplied by a sign, and so is the result. With kSkip, NaN items are skipped.
template <class State, bool kSkip, int kSign = 1, int kInTurn = 8>
struct OneState : OperatorDefaults {
  static constexpr int kWide = kInTurn;
  static constexpr bool kAddsOnly = State::kAdds && kInTurn == 8;
  State state;

  KW_FN void init() { state.init(nullptr, 1); }
  KW_FN void take(double value, Index place) {
    state.step(Lane::of(kSign * value), Lane(1.0), place, !kSkip || value == value);
  }
  KW_FN void merge(const OneState& later) { state.merge(later.state, 0); }
  KW_FN void finish(double* values) const {
    Lane found;
    Index place;
    state.finish(&found, &place);
    values[0] = kSign * found.v;
  }
};

template <bool kSkip>
using Sum = OneState<red::Sum<Lane>, kSkip>;
template <bool kSkip>
using Prod = OneState<red::Prod<Lane>, kSkip, 1, 2>;
template <bool kSkip>
using Min = OneState<red::Min<Lane>, kSkip>;
template <bool kSkip>
using Max = OneState<red::Min<Lane>, kSkip, -1>;
// Most terms are not far above the scale: these need one exponential.
template <bool kSkip>
struct LogSumExp : OneState<red::LogSumExp<Lane>, kSkip, 1, 1> {
  using Base = OneState<red::LogSumExp<Lane>, kSkip, 1, 1>;

  KW_FN void take(double value, Index place) {
    auto sums = this->state.sums;
    this->state.add(this->state.scale.share(Lane::of(value)), Lane(1.0), &sums);
    if (this->state.plain(sums)) this->state.sums = sums;
    else Base::take(value, place);
  }
};

// Finds the place of the smallest item, or of the largest; NaN if there is none. NaN never wins.
template <int kSign>
struct ArgMin : OperatorDefaults {
  red::MinArgMin<Lane> state;

  KW_FN void init() { state.init(nullptr, 1); }
  KW_FN void take(double value, Index place) { state.step(Lane::of(kSign * value), Lane(1.0), place, true); }
  KW_FN void merge(const ArgMin& later) { state.merge(later.state, 0); }
  KW_FN void finish(double* values) const {
    values[0] = state.where == 0 ? nan<Lane>().v : static_cast<double>(state.where);
  }
};

// The int that stands for a missing number, as in R.
constexpr int kMissing = -2147483647 - 1;

// An exact sum of whole numbers; NaN if an item is missing and not skipped.
template <bool kSkip>
struct WholeSum : OperatorDefaults {
  static constexpr int kWide = 8;
  static constexpr bool kReadsIntegers = true;
  red::Sum<WholeLane> total;
  bool missing;

  KW_FN void init() {
    total.init(nullptr, 1);
    missing = false;
  }
  KW_FN void take(double value, Index) {
    const bool known = value == value;
    total.step(WholeLane::of(known ? static_cast<Index>(value) : 0), WholeLane(1.0), 0, true);
    if constexpr (!kSkip) missing |= !known;
  }
  // Takes in an item. A missing item makes the sum useless, unless missing items are skipped.
  KW_FN void take(int value, Index) {
    const bool known = value != kMissing;
    total.step(WholeLane::of(value), WholeLane(1.0), 0, !kSkip || known);
    if constexpr (!kSkip) missing |= !known;
  }
  // Returns the sum as an integer; sets `large` if the sum does not fit.
  KW_FN int finish_whole(bool* large) const {
    const Index sum = total.total.v;
    const bool fits = sum > kMissing && sum <= -(kMissing + 1LL);
    *large |= !fits && !missing;
    return fits && !missing ? static_cast<int>(sum) : kMissing;
  }
  KW_FN void merge(const WholeSum& later) {
    total.merge(later.total, 0);
    missing |= later.missing;
  }
  KW_FN void finish(double* values) const { values[0] = missing ? nan<Lane>().v : static_cast<double>(total.total.v); }
};

template <bool kSkip>
struct Mean : OperatorDefaults {
  static constexpr int kWide = 4;
  Sum<kSkip> sum;
  Index count;

  KW_FN void init() {
    sum.init();
    count = 0;
  }
  KW_FN void take(double value, Index place) {
    sum.take(value, place);
    count += !kSkip || value == value;
  }
  KW_FN void merge(const Mean& later) {
    sum.merge(later.sum);
    count += later.count;
  }
  KW_FN void finish(double* values) const {
    sum.finish(values);
    values[0] /= static_cast<double>(count);
  }
};

template <bool kSkip>
struct Range : OperatorDefaults {
  static constexpr int kResults = 2, kWide = 4;
  Min<kSkip> least;
  Max<kSkip> largest;

  KW_FN void init() {
    least.init();
    largest.init();
  }
  KW_FN void take(double value, Index place) {
    least.take(value, place);
    largest.take(value, place);
  }
  KW_FN void merge(const Range& later) {
    least.merge(later.least);
    largest.merge(later.largest);
  }
  KW_FN void finish(double* values) const {
    least.finish(values);
    largest.finish(values + 1);
  }
};

// Tells whether any item is true; with kAll, no item is false. A missing item leaves this open unless another decides.
template <bool kSkip, bool kAll>
struct Any : OperatorDefaults {
  red::Any<Lane> decided, open;

  KW_FN void init() {
    decided.init(nullptr, 1);
    open.init(nullptr, 1);
  }
  KW_FN void take(double value, Index) {
    const bool known = value == value;
    decided.step(number<Lane>((value != 0) != kAll), Lane(1.0), 0, known);
    if constexpr (!kSkip) open.step(number<Lane>(!known), Lane(1.0), 0, true);
  }
  KW_FN void merge(const Any& later) {
    decided.merge(later.decided, 0);
    open.merge(later.open, 0);
  }
  KW_FN void finish(double* values) const {
    if (truth(decided.found)) values[0] = kAll ? 0 : 1;
    else values[0] = truth(open.found) ? nan<Lane>().v : kAll ? 1 : 0;
  }
};

// Copies of an operator that take items in turn, and so do not wait for each other.
template <class Operator, int kCount>
struct InTurn {
  InTurn<Operator, kCount - 1> before;
  Operator last;

  KW_FN void init() {
    before.init();
    last.init();
  }
  template <class Number, class Places>
  KW_FN void take(const Number* values, Index first, const Places& places) {
    before.take(values, first, places);
    last.take(values[first + kCount - 1], places(first + kCount - 1));
  }
  KW_FN void merge_into(Operator* all) const {
    before.merge_into(all);
    all->merge(last);
  }
};
template <class Operator>
struct InTurn<Operator, 0> {
  KW_FN void init() {}
  template <class Number, class Places>
  KW_FN void take(const Number*, Index, const Places&) {}
  KW_FN void merge_into(Operator*) const {}
};

// Takes in `count` items that lie together; places(k) is the number of item k.
template <class Operator, class Number, class Places>
KW_FN void fold(const Number* values, Index count, const Places& places, Operator* into) {
  constexpr int kWide = Operator::kWide;
  Index k = 0;
  if (kWide > 1 && count >= 4 * kWide) {
    InTurn<Operator, kWide> wide;
    wide.init();
    for (; k + kWide <= count; k += kWide) wide.take(values, k, places);
    wide.merge_into(into);
  }
  for (; k < count; ++k) into->take(values[k], places(k));
}

template <class Operator>
KW_FN void finish_after(Operator before, const Operator& later, double* values) {
  before.merge(later);
  before.finish(values);
}

// Writes the operator's result for the items up to each item or, with kExclusive, up to the item before it. An operator
// that only adds takes items four at a time, so that its chain of dependent steps has one merge for four items.
template <bool kExclusive, class Operator, class Places>
KW_FN void fold_running(const double* values, Index count, const Places& places, double* running, Operator* state) {
  Operator now = *state;
  Index k = 0;
  if constexpr (Operator::kAddsOnly) {
    for (; k + 4 <= count; k += 4) {
      Operator one, two, three, four, after;
      one.init();
      one.take(values[k], places(k));
      two = one;
      two.take(values[k + 1], places(k + 1));
      three = two;
      three.take(values[k + 2], places(k + 2));
      four.init();
      four.take(values[k + 2], places(k + 2));
      four.take(values[k + 3], places(k + 3));
      after = two;
      after.merge(four);
      finish_after(now, one, running + k + kExclusive);
      finish_after(now, two, running + k + 1 + kExclusive);
      finish_after(now, three, running + k + 2 + kExclusive);
      if (kExclusive) now.finish(running + k);
      else finish_after(now, after, running + k + 3);
      now.merge(after);
    }
  }
  for (; k < count; ++k) {
    if (kExclusive) now.finish(running + k);
    now.take(values[k], places(k));
    if (!kExclusive) now.finish(running + k);
  }
  *state = now;
}

}  // namespace operators
}  // inline namespace KW_ISA
}  // namespace kernweave
