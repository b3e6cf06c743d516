// Complex balls as a lane. If the operations of a formula are run on a ball, the result bounds the formula there, and
// shows that it is analytic. This file knows no operation.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "expr/table.hpp"

namespace kernweave {
namespace distance {

// Returns |z|: the root of norm(z), unless norm(z) is too large or too small for its digits.
inline double size_of(std::complex<double> z) {
  const double square = std::norm(z);
  return square > 1e-280 && square < 1e280 ? std::sqrt(square) : std::abs(z);
}

// All numbers no farther than `radius` from `centre`. If `real`, the ball is an interval of real numbers, on which
// comparisons may have answers and functions need not be analytic. If nothing is known, the radius is infinite.
struct Ball {
  using Number = double;
  using Complex = std::complex<double>;

  class Mask {
   public:
    // `unknown`: it may hold for some numbers of an interval, but not for others. `nowhere`: the ball is complex, or
    // not known, so the comparison has no answer, and a formula that depends on it is not analytic.
    enum Answer { no, yes, unknown, nowhere };
    Mask(Answer answer) : answer_(answer) {}
    Answer answer() const { return answer_; }
    friend Mask operator&&(Mask a, Mask b);
    friend Mask operator||(Mask a, Mask b);
    friend Mask operator!(Mask a);

   private:
    Answer answer_;
  };

  Complex centre = 0;
  double radius = 0;
  bool real = true;

  Ball() = default;
  Ball(double x) : Ball(std::isfinite(x) ? Ball(x, 0, true) : nowhere()) {}
  Ball(Complex centre, double radius, bool real) : centre(centre), radius(radius), real(real) {}
  static Ball nowhere() { return {0, std::numeric_limits<double>::infinity(), false}; }
  static Ball between(double least, double most);  // contains the interval

  bool known() const { return std::isfinite(radius); }
  bool is_nothing() const { return centre == 0.0 && radius == 0; }
  double size() const { return size_of(centre) + radius; }  // infinite if nothing is known
  double least() const { return centre.real() - radius; }
  double most() const { return centre.real() + radius; }

  // A choice whose test is unknown on an interval spans all numbers from the least to the largest of both values.
  using L = Ball;
#include "expr/outline-inl.hpp"
};

Ball inverse(const Ball& a);
// Returns the ball, enlarged by the rounding error.
Ball rounded(const Ball& a);

// An operation on balls. It returns a ball that contains all values for arguments in the given balls.
using BoundedFn = Ball (*)(const Ball* in);
BoundedFn bounded(Op op);

}  // namespace distance
}  // namespace kernweave
