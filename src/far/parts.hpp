// Takes a formula apart, step by step: values are products of factors of either side, a formula of the squared
// distance, and a polynomial of the difference of the points.
#pragma once
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "far/difference.hpp"
#include "far/part.hpp"
#include "far/polynomial.hpp"
#include "far/profile.hpp"
#include "far/refused.hpp"
#include "far/values.hpp"

namespace kernweave {
namespace far {

class Parts {
 public:
  // Steps are added to the profile as they are met.
  Parts(Values values, Profile* profile) : values_(std::move(values)), profile_(profile) {}

  // Of the formula.
  Part whole(const Ref& ref) { return settled(of(ref)); }
  // Where the profile has it with its number, and without its factors.
  int place_of(const Part& part);

  const Difference& difference() const { return difference_; }
  // The squared distance; nothing where none was met.
  const Polynomial& square() const { return square_; }

 private:
  Part of(const Ref& ref);
  Part of_step(const Step& step);
  Part product_of(Part a, Part b);
  Part quotient(const Step& step);
  Part size_or_sign(const Step& step);
  Part less(const Ref& a, const Ref& b, int width);
  Part sum(const Part& a, const Part& b, Op op);
  Refused beside(const Part& part) const;
  std::optional<Part> joined(const Part& a, const Part& b) const;
  struct Places {
    int one = 0, other = 0;
  };
  Places united(const Part& a, const Part& b, const char* what, Part* both);
  Part choice(const Step& step);
  Part under_linear(const Step& step);
  Part plain_step(const Step& step);
  Part settled(Part part);
  Part reduced(Part part);
  int plain(const Ref& ref, const Step& by);
  int new_number(double number);
  int new_step(Op op, const std::vector<int>& in);
  int times(int a, int b);
  void refuse_longer() const;

  Values values_;
  Profile* const profile_;
  Difference difference_;
  Polynomial square_;
  std::map<int, Part> known_;  // by slots
  std::map<double, int> numbers_;  // of the profile, and its steps, where they are
  std::map<std::pair<Op, std::vector<int>>, int> steps_;
  int depth_ = 0;  // of steps that the present one is part of
};

}  // namespace far
}  // namespace kernweave
