// A formula of one number, the squared distance of two points: its value, and a bound of it on balls.
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

}  // namespace distance
}  // namespace kernweave
