// A profile, the formula of one number, the squared distance of two points: its values, its bounds on balls, its
// largest value, and the error of its Chebyshev series.
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
  static constexpr int kMostPlaces = 96;  // the most values that exist at once
  static constexpr int kFewPlaces = 16;   // enough for most formulas, and faster

  // Add a value and return its place; place 0 is the squared distance.
  int add_number(double number);
  int add_step(Op op, const std::vector<int>& in);
  // Adds the look-up of one order of a table at the value of a place.
  int add_look_up(Op op, int in, std::vector<double> table, int order);
  bool full() const { return places() >= kMostPlaces; }
  void end_with(int place) { result_ = place; }

  // Returns the formula as R writes it, with the squared distance `s`.
  std::string text() const;
  // Returns the first operation that has no bound on any of these balls of squared distances though its arguments have
  // bounds; null if there is no such operation.
  const OpRow* without_ball(const std::vector<Ball>& squares) const;

  double at(double square) const;
  Ball over(const Ball& square) const;

 private:
  struct ProfileStep {
    Op op;
    Lane (*value)(const Lane* in);
    BoundedFn bounded;
    std::array<int, 3> in;
    std::shared_ptr<const std::vector<double>> table{};  // the table of a step that looks up numbers
    int order = 0;

    int arity() const { return table ? 1 : row(op).arity; }
    Lane at(const Lane* in) const;
    Ball over(const Ball* in) const;
  };
  int places() const { return 1 + static_cast<int>(numbers_.size() + steps_.size()); }
  // Computes the result in a lane: `number` converts a number to the lane, `apply` applies a step to its arguments.
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

  // Adds a component, along which each box reaches from its `least` to its `most`.
  void add(double least_of_one, double most_of_one, double least_of_other, double most_of_other);
};

// A largest value below this number counts as 0, since it has no digits to spare.
constexpr double kSmallestScale = 1e-290;
// The largest finite |k| that samples find at squared distances from `least` to `most`; with a power, the largest |k|
// times the distance to that power.
double largest_found(const Profile& k, double least, double most, int power = 0);

// Tells whether values may be far off if points in a cube of this width are rounded to float32, since the formula is
// infinite at distance 0, jumps, or turns with the difference. `scale` is its largest value.
bool is_rough(const Profile& k, double width, int power, double scale);

// Returns the reason why there is no series at these distances: a clause about an operation without one, or empty text.
std::string why_no_series(const Profile& k, double least, double most);

// Returns a bound of |k| on squared distances from `least` to `most`; a bound up to `enough` is not made tighter.
double largest(const Profile& k, double least, double most, double enough);

// Returns a bound of the interpolation error of z -> k(z^2 + c) in `points` Chebyshev points, for |z - middle| <= half
// and c from `c_least` to `c_most`. A bound up to `goal` is not made tighter. The bound is infinite if no bound is
// found, or none up to `allowed`.
struct SeriesDomain {
  double middle, half, c_least, c_most;
};
double interpolation_error(const Profile& k, const SeriesDomain& domain, int points, double goal, double allowed);

}  // namespace distance
}  // namespace kernweave
