// Complex balls, a lane like any other: operations' rows that run on one bound a formula there, and show it to be
// analytic. Knows no operation.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "expr/table.hpp"

namespace kernweave {
namespace distance {

// The size of a complex number: the root of its square, but where that is too large or too small for its digits.
inline double size_of(std::complex<double> z) {
  const double square = std::norm(z);
  return square > 1e-280 && square < 1e280 ? std::sqrt(square) : std::abs(z);
}

// All numbers no farther than `radius` from `centre`. Of a range of real numbers alone it is an interval, on which
// comparisons may be settled and functions need not be analytic. Where nothing is known the radius is infinite.
struct Ball {
  using Number = double;
  using Complex = std::complex<double>;

  class Mask {
   public:
    // `unknown`: an interval has numbers for which it is so, and others. `nowhere`: of complex numbers, and where
    // nothing is known, comparisons say nothing, and what depends on them is not analytic.
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
  static Ball between(double least, double most);  // no less than the interval

  bool known() const { return std::isfinite(radius); }
  bool is_nothing() const { return centre == 0.0 && radius == 0; }
  double size() const { return size_of(centre) + radius; }  // infinite where nothing is known
  double least() const { return centre.real() - radius; }
  double most() const { return centre.real() + radius; }

  // A choice whose test is unknown on an interval spans all numbers from the least to the largest of both values.
  using L = Ball;
#include "expr/outline-inl.hpp"
};

Ball inverse(const Ball& a);
// The ball, wider by what is off in its last digits.
Ball rounded(const Ball& a);

// An operation on balls: all of its values, of arguments in these, lie in the ball that it returns.
using BoundedFn = Ball (*)(const Ball* in);
BoundedFn bounded(Op op);

}  // namespace distance
}  // namespace kernweave
