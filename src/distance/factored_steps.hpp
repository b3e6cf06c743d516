// The steps of a formula, each as a product (Factored), and the squared distance that is met on the way.
#pragma once
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "distance/difference.hpp"
#include "distance/factored.hpp"
#include "distance/origins.hpp"
#include "distance/polynomial.hpp"
#include "distance/profile.hpp"
#include "distance/refused.hpp"

namespace kernweave {
namespace distance {

class FactoredSteps {
 public:
  // The profile gets a step for each one of the formula that works on the distance.
  FactoredSteps(Origins origins, Profile* profile) : origins_(std::move(origins)), profile_(profile) {}

  // The formula itself.
  Factored whole(const Ref& ref) { return settled(of(ref)); }
  // The place in the profile of a value without its factors.
  int place_of(const Factored& value);

  const Difference& difference() const { return difference_; }
  // The squared distance as a polynomial of the difference; nothing where none was met.
  const Polynomial& square() const { return square_; }

 private:
  Factored of(const Ref& ref);
  Factored of_step(const Step& step);
  Factored product_of(Factored a, Factored b);
  Factored under_law(const Step& step);
  Factored quotient(const Factored& a, Factored b, Op op);
  Factored of_size(const Step& step, const Factored& of);
  Factored of_each_two(const Step& step);
  Factored less(const Ref& a, const Ref& b, int width);
  Factored sum(const Factored& a, const Factored& b, Op op);
  Refused beside(const Factored& value) const;
  std::optional<Factored> joined(const Factored& a, const Factored& b) const;
  struct Places {
    int one = 0, other = 0;
  };
  Places united(const Factored& a, const Factored& b, const char* what, Factored* both);
  Factored choice(const Step& step);
  Factored under_linear(const Step& step);
  Factored plain_step(const Step& step);
  Factored settled(Factored value);
  Factored reduced(Factored value);
  int plain(const Ref& ref, const Step& by);
  int new_number(double number);
  int new_step(Op op, const std::vector<int>& in);
  int times(int a, int b);
  void refuse_longer() const;

  Origins origins_;
  Profile* const profile_;
  Difference difference_;
  Polynomial square_;
  std::map<int, Factored> known_;  // by slots
  // Places in the profile of numbers and steps that it has already.
  std::map<double, int> numbers_;
  std::map<std::pair<Op, std::vector<int>>, int> steps_;
  int depth_ = 0;  // of steps within steps, at present
};

}  // namespace distance
}  // namespace kernweave
