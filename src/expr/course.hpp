// The course of a value as one argument changes, a lane like any other: operations' rows that run on it show where it
// rises and falls. Knows no operation.
#pragma once
#include "expr/interval.hpp"

namespace kernweave {

// What becomes of a value when the argument's sign is turned.
enum class Parity { unknown, even, odd };

struct Course {
  using Number = double;

  // Of a comparison: its answer; slopes of its truth, as a number; is it even?
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

  friend Course operator+(const Course& a, const Course& b);
  friend Course operator-(const Course& a, const Course& b);
  friend Course operator-(const Course& a);
  friend Course operator*(const Course& a, const Course& b);
  friend Course operator/(const Course& a, const Course& b);
  friend Course square(const Course& a);

  friend Mask operator<(const Course& a, const Course& b);
  friend Mask operator<=(const Course& a, const Course& b);
  friend Mask operator==(const Course& a, const Course& b);
  friend Mask differs(const Course& a, const Course& b);
  friend Mask truth(const Course& a);
  friend Mask is_nan(const Course& a);
  friend Course select(const Mask& test, const Course& yes, const Course& no);

  friend Course abs(const Course& a);
  friend Course nearest(const Course& a);
  friend Course floor(const Course& a);
  friend Course ceiling(const Course& a);
  friend Course trunc(const Course& a);
  friend Course modulo(const Course& a, const Course& b);
  friend Course sqrt(const Course& a);
  friend Course inverse_sqrt(const Course& a);
  friend Course rsqrt(const Course& a);
  friend Course exp(const Course& a);
  friend Course exp2(const Course& a);
  friend Course exp2_minus(const Course& a);
  friend Course expm1(const Course& a);
  friend Course log(const Course& a);
  friend Course log1p(const Course& a);
  friend Course pow(const Course& a, const Course& b);
  friend Course sin(const Course& a);
  friend Course cos(const Course& a);
  friend Course sinpi(const Course& a);
  friend Course cospi(const Course& a);
  friend Course tanh(const Course& a);
  friend Course sinh(const Course& a);
  friend Course cosh(const Course& a);
  friend Course asinh(const Course& a);
  friend Course acosh(const Course& a);
  friend Course atanh(const Course& a);
  friend Course asin(const Course& a);
  friend Course acos(const Course& a);
  friend Course atan(const Course& a);
  friend Course atan2(const Course& y, const Course& x);
  friend Course softplus(const Course& a);
  friend Course erf(const Course& a);
  friend Course erfc(const Course& a);
  friend Course lgamma(const Course& a);
  friend Course gamma(const Course& a);
  friend Course digamma(const Course& a);
  friend Course trigamma(const Course& a);
};

}  // namespace kernweave
