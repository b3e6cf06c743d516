// The steps of a formula as products (RadialProduct), and the squared distance that is found in them.
#pragma once
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "distance/origins.hpp"
#include "distance/polynomial.hpp"
#include "distance/profile.hpp"
#include "distance/radial_form.hpp"
#include "distance/radial_product.hpp"

namespace kernweave {
namespace distance {

class RadialSteps {
 public:
  // Adds a step to the profile for each step of the formula that works on the distance.
  RadialSteps(Origins origins, Profile* profile) : origins_(std::move(origins)), profile_(profile) {}

  // Returns the whole formula.
  RadialProduct whole(const Ref& ref) { return settled(of(ref)); }
  // Returns the place in the profile of a value without its factors.
  int place_of(const RadialProduct& value);

  const PointDifference& difference() const { return difference_; }
  // The squared distance as a polynomial of the difference; empty if none was found.
  const Polynomial& square() const { return square_; }

 private:
  RadialProduct of(const Ref& ref);
  RadialProduct of_step(const Step& step);
  RadialProduct product_of(RadialProduct a, RadialProduct b);
  RadialProduct under_law(const Step& step);
  RadialProduct quotient(const RadialProduct& a, RadialProduct b, Op op);
  RadialProduct of_size(const Step& step, const RadialProduct& of);
  RadialProduct of_each_two(const Step& step);
  RadialProduct less(const Ref& a, const Ref& b, int width);
  RadialProduct sum(const RadialProduct& a, const RadialProduct& b, Op op);
  NotRadial beside(const RadialProduct& value) const;
  std::optional<RadialProduct> joined(const RadialProduct& a, const RadialProduct& b) const;
  struct PlacePair {
    int one = 0, other = 0;
  };
  PlacePair united(const RadialProduct& a, const RadialProduct& b, const char* what, RadialProduct* both);
  RadialProduct choice(const Step& step);
  RadialProduct under_linear(const Step& step);
  RadialProduct looked_up(const Step& step);
  RadialProduct plain_step(const Step& step);
  RadialProduct settled(RadialProduct value);
  RadialProduct reduced(RadialProduct value);
  int plain(const Ref& ref, const Step& by);
  int new_number(double number);
  int new_step(Op op, const std::vector<int>& in);
  int times(int a, int b);
  void refuse_longer() const;

  Origins origins_;
  Profile* const profile_;
  PointDifference difference_;
  Polynomial square_;
  std::map<int, RadialProduct> known_;  // by slot
  // The places of numbers and steps that the profile already has.
  std::map<double, int> numbers_;
  std::map<std::pair<Op, std::vector<int>>, int> steps_;
  int depth_ = 0;  // the present depth of steps within steps
};

}  // namespace distance
}  // namespace kernweave
