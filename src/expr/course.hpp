// A lane that follows a value as one argument changes: rows of operations that run on it show where the value rises and
// falls. Knows no operation.
#pragma once
#include <vector>
#include "expr/interval.hpp"
#include "expr/table.hpp"

namespace kernweave {

// The effect on a value of turning the argument's sign.
enum class Parity { unknown, even, odd };

struct Course {
  using Number = double;

  // The result of a comparison: its answer; slopes of its truth, as a number; whether the truth is even.
  struct Mask {
    Interval::Mask answer;
    Interval turns;
    bool even;

    friend Mask operator&&(const Mask& a, const Mask& b);
    friend Mask operator||(const Mask& a, const Mask& b);
    friend Mask operator!(const Mask& a);
  };

  Interval value;
  Interval slope;  // (f(b) - f(a)) / (b - a) for any two places of the argument, whether there is a derivative or not
  Parity parity = Parity::even;

  Course() : Course(0.0) {}
  Course(double number) : value(number), slope(0.0) {}
  Course(const Interval& value, const Interval& slope, Parity parity);

  using L = Course;
#include "expr/outline-inl.hpp"

  friend L floor(const L& a), ceiling(const L& a), trunc(const L& a), lgamma(const L& a), gamma(const L& a),
      digamma(const L& a), trigamma(const L& a);
  friend L modulo(const L& a, const L& b), atan2(const L& y, const L& x);
};

// --- trends --------------------------------------------------------------------------------------------------------

// The trend of an operation's value as one argument grows, proved by the slopes of its row. `uneven`: grows and falls,
// or is not known. `flat`: no change.
enum class Trend { uneven, flat, grows, falls };

Trend opposite(Trend trend);
// Returns the trend of a value that follows two others: the trend on which both agree.
Trend both(Trend a, Trend b);

// The proved trends and interval of a value whose arguments lie in the intervals `args`; for a fold, after some steps,
// and `args` are the arguments of one step.
struct Proved {
  std::vector<Trend> trends;  // for each argument
  Interval value;
};
Proved trends_of(Op op, const std::vector<Interval>& args);

// Finds the trends of a value of two points, or of a difference in place of argument `at`, as a function of the size of
// their difference, from 0 on. Uneven if its sign, or the points themselves, matter.
Proved trends_of_difference(Op op, std::vector<Interval> args, std::size_t at);
Proved trends_of_points(Op op);

}  // namespace kernweave
