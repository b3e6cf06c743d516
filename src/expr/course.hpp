// The course of a value as one argument changes, a lane like any other: operations' rows that run on it show where it
// rises and falls. Knows no operation.
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

  friend Course floor(const Course& a);
  friend Course ceiling(const Course& a);
  friend Course trunc(const Course& a);
  friend Course modulo(const Course& a, const Course& b);
  friend Course atan2(const Course& y, const Course& x);
  friend Course lgamma(const Course& a);
  friend Course gamma(const Course& a);
  friend Course digamma(const Course& a);
  friend Course trigamma(const Course& a);
};

// --- trends --------------------------------------------------------------------------------------------------------
// How the value of an operation changes as one argument grows: proved by the slopes of its row.

// `uneven`: now this, now that, or not known. `flat`: not at all.
enum class Trend { uneven, flat, grows, falls };

Trend opposite(Trend trend);
// Returns the trend of a value that follows two others: the trend on which both agree.
Trend both(Trend a, Trend b);

// The trends and the interval proved of a value with arguments from these intervals; of a fold, after some steps, where
// `args` are the arguments of one step.
struct Proved {
  std::vector<Trend> trends;  // for each argument
  Interval value;
};
Proved trends_of(Op op, const std::vector<Interval>& args);

// Finds the trends of a value of two points, or of a difference in place of argument `at`, as a function of the size of
// their difference, from 0 on. Uneven where its sign, or the points themselves, matter.
Proved trends_of_difference(Op op, std::vector<Interval> args, std::size_t at);
Proved trends_of_points(Op op);

}  // namespace kernweave
