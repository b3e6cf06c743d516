// A formula of one number, the squared distance of two points: its value, and a bound of it on discs.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "distance/disc.hpp"
#include "expr/table.hpp"

namespace kernweave {
namespace distance {

class Profile {
 public:
  static constexpr int kMostPlaces = 96, kFewPlaces = 16;  // values at once; of most formulas that somebody writes

  // Places of values: the squared distance, which is there from the first, then what is added.
  int add_number(double number);
  int add_step(Op op, const std::vector<int>& in);
  bool full() const { return places() >= kMostPlaces; }
  void end_with(int place) { result_ = place; }

  // As R writes it, of `s`.
  std::string text() const;
  // The first operation that has no value on discs around any of these squared distances though its arguments have; a
  // null pointer where there is none.
  const OpRow* without_disc(const std::vector<Disc>& squares) const;

  double at(double square) const;
  Disc over(const Disc& square) const;

 private:
  struct Step {
    Op op;
    Lane (*value)(const Lane* in);
    BoundedFn bounded;
    std::array<int, 3> in;
  };
  int places() const { return 1 + static_cast<int>(numbers_.size() + steps_.size()); }
  // Numbers become values by `number`, steps by `apply`.
  template <class L, class Number, class Apply>
  L run(L square, Number number, Apply apply) const;
  template <int kPlaces, class L, class Number, class Apply>
  L run_in(L square, Number number, Apply apply) const;

  std::vector<double> numbers_;
  std::vector<int> at_;  // of each number, its place
  std::vector<Step> steps_;
  std::vector<int> out_;  // of each step, the place of its value
  int result_ = 0;
};

}  // namespace distance
}  // namespace kernweave
