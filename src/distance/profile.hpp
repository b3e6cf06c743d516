// A formula of one number, the squared distance of two points: its value, a bound of it on balls, how large it can be,
// and how far its Chebyshev series can be off.
#pragma once
#include <array>
#include <memory>
#include <string>
#include <vector>
#include "distance/ball.hpp"
#include "expr/table.hpp"

namespace kernweave {
namespace distance {

class Profile {
 public:
  static constexpr int kMostPlaces = 96;  // of values that are there at once
  static constexpr int kFewPlaces = 16;   // enough for most formulas that somebody writes, and quicker

  // Each adds a value and returns its place; place 0 is the squared distance.
  int add_number(double number);
  int add_step(Op op, const std::vector<int>& in);
  // One order of a table, looked up at the value of a place.
  int add_look_up(Op op, int in, std::vector<double> table, int order);
  bool full() const { return places() >= kMostPlaces; }
  void end_with(int place) { result_ = place; }

  // The formula as R writes it, of `s`.
  std::string text() const;
  // The first operation that has no value on any of these balls of squared distances though its arguments have; a null
  // pointer where each operation has one.
  const OpRow* without_ball(const std::vector<Ball>& squares) const;

  double at(double square) const;
  Ball over(const Ball& square) const;

 private:
  struct ProfileStep {
    Op op;
    Lane (*value)(const Lane* in);
    BoundedFn bounded;
    std::array<int, 3> in;
    std::shared_ptr<const std::vector<double>> table{};  // of a step that looks numbers up
    int order = 0;

    int arity() const { return table ? 1 : row(op).arity; }
    Lane at(const Lane* in) const;
    Ball over(const Ball* in) const;
  };
  int places() const { return 1 + static_cast<int>(numbers_.size() + steps_.size()); }
  // The result in a lane: `number` makes its values of numbers, `apply` of steps and their arguments.
  template <class L, class Number, class Apply>
  L run(L square, Number number, Apply apply) const;
  template <int kPlaces, class L, class Number, class Apply>
  L run_in(L square, Number number, Apply apply) const;

  std::vector<double> numbers_;
  std::vector<int> at_;  // the place of each number
  std::vector<ProfileStep> steps_;
  std::vector<int> out_;  // the place of each step's value
  int result_ = 0;
};

// --- bounds of a profile k ------------------------------------------------------------------------------------------

// The squared distances that points of two boxes can have.
struct DistanceRange {
  double least = 0, most = 0;

  // One more component: the boxes reach from `least` to `most` along it.
  void add(double least_of_one, double most_of_one, double least_of_other, double most_of_other);
};

// A largest value below this one counts as 0: it has no digits to spare.
constexpr double kSmallestScale = 1e-290;
// The largest finite |k| that samples find at squared distances from `least` to `most`; with a power, the largest |k|
// times the distance to that power.
double largest_found(const Profile& k, double least, double most, int power = 0);

// May values of points in a cube of this width be far off once the points are rounded to float32? They are where the
// formula is infinite at distance 0, jumps, or turns with the difference. `scale` is its largest value.
bool is_rough(const Profile& k, double width, int power, double scale);

// Says why there is no series at such distances: a clause about the operation that has none, or an empty text.
std::string why_no_series(const Profile& k, double least, double most);

// A bound of |k| on squared distances from `least` to `most`, no tighter than `enough` asks for.
double largest(const Profile& k, double least, double most, double enough);

// A bound of what interpolation of z -> k(z^2 + c) in `points` Chebyshev points is off by, for z no farther than `half`
// from `middle` and c from `c_least` to `c_most`. It is no tighter than `goal` asks for, and infinite where nothing
// could be shown, or nothing as small as `allowed`.
struct SeriesDomain {
  double middle, half, c_least, c_most;
};
double interpolation_error(const Profile& k, const SeriesDomain& domain, int points, double goal, double allowed);

}  // namespace distance
}  // namespace kernweave
