// Intervals of real numbers as a lane: rows of operations that run on intervals bound the computed values, rounding
// included. Knows no operation.
#pragma once
#include <cmath>

#include "expr/table.hpp"

namespace kernweave {

// The largest relative error of a computed value, in float64 and in float32.
constexpr double kOffDouble = 0x1p-48, kOffSingle = 0x1p-20;

// All numbers from `least` to `most`. An infinite end stands for numbers of any size.
struct Interval {
  using Number = double;

  // The result of a comparison: its answer, and the marks of the values that were compared.
  class Mask {
   public:
    enum Answer { no, yes, unknown };
    Mask(Answer answer, int less = 0, int more = 0) : answer_(answer), less_(less), more_(more) {}
    static Mask of(bool always, bool never, int less = 0, int more = 0) {
      return {never ? no : always ? yes : unknown, less, more};
    }
    Answer answer() const { return answer_; }
    // Tells whether the chosen value is the lesser, or the greater, of the values that were compared.
    bool chooses_lesser(const Interval& yes, const Interval& no) const;
    bool chooses_greater(const Interval& yes, const Interval& no) const;
    friend Mask operator&&(Mask a, Mask b) {
      if (a.answer_ == yes || b.answer_ == no) return b;
      return b.answer_ == yes ? a : Mask(a.answer_);
    }
    friend Mask operator||(Mask a, Mask b) {
      if (a.answer_ == no || b.answer_ == yes) return b;
      return b.answer_ == no ? a : Mask(a.answer_);
    }
    friend Mask operator!(Mask a) { return of(a.answer_ == no, a.answer_ == yes); }

   private:
    Answer answer_;
    int less_, more_;
  };

  double least = 0, most = 0;
  bool nan = false;    // may a value be NaN?
  bool pole = false;   // may a value be infinite though its arguments are not?
  bool whole = false;  // are all values whole numbers?
  bool minus_zero = false;  // may a 0 be -0, whose inverse is another infinity?
  double off = kOffDouble;
  int mark;  // equal for copies, and for equal constants of rows

  Interval() : Interval(0.0) {}
  Interval(double x);
  Interval(double least, double most);
  static Interval anything();
  // Returns a copy with other ends and a new mark.
  Interval with(double other_least, double other_most) const;

  bool has(double x) const { return least <= x && x <= most; }
  bool is_number() const { return least == most && !nan; }
  bool is_number(double x) const { return is_number() && least == x; }
  bool finite() const { return std::isfinite(least) && std::isfinite(most); }

  // Comparisons with NaN are false.
  using L = Interval;
#include "expr/outline-inl.hpp"

  friend L floor(const L& a), ceiling(const L& a), trunc(const L& a), lgamma(const L& a), gamma(const L& a),
      digamma(const L& a), trigamma(const L& a);
  friend L modulo(const L& a, const L& b), atan2(const L& y, const L& x);
};

// An operation on intervals: its values for arguments in these intervals lie in the interval that it returns. For a
// fold, one step, whose first argument is the earlier result. bounded() returns null if there is none.
using IntervalFn = Interval (*)(const Interval* in);
IntervalFn bounded(Op op);

// Returns the numbers of both intervals, and all numbers between them.
Interval joined(const Interval& a, const Interval& b);
// Returns the interval with each end moved outwards by a share of its size, unless the end is known to be exact.
Interval rounded(const Interval& a, bool least_is_exact, bool most_is_exact);

}  // namespace kernweave
