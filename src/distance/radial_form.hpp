// A radial formula, a formula of a squared distance: its points, its profile (a formula of the squared distance alone),
// and its factors of rows and columns.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "arrays/pieces.hpp"
#include "base/error.hpp"
#include "base/view.hpp"
#include "distance/profile.hpp"
#include "distance/sides.hpp"
#include "expr/node.hpp"
#include "plan/plan.hpp"

namespace kernweave {
namespace distance {

// A component of the formula is a b k(s) sum_d n_d (x_d - y_d)^power, with the factors a of the row and b of the
// column, the profile k at the squared distance s of the points x and y, and `numbers` n. Without a power, the sum is
// one number.
struct RadialForm {
  int width = 0;         // components of the points
  int components = 1;    // components of the formula
  bool adds_up = false;  // is it the sum of its components, whose factors of rows differ?
  Side rows, columns;
  Profile profile;
  int power = 0;
  // A number for each component of the formula; with a power, each has a number for each component of the points.
  std::vector<double> numbers = {1};
};

// Recognises a radial form in the plan of a formula as it is written. The verdict says why there is none.
Verdict recognise_radial(const Plan& plan, const std::vector<View>& data, std::int64_t rows, std::int64_t columns,
                   const arrays::Workers& workers, RadialForm* form);

// Tells whether both sides have the same points and no factors, and the formula falls with the distance, as far as
// samples tell.
bool falls_between_same(const RadialForm& form, const arrays::Workers& workers);

// --- not radial ----------------------------------------------------------------------------------------------------
// The reason why a formula is not a formula of one distance: thrown when found, and caught by recognise_radial().

struct NotRadial {
  std::string why;
};
// Returns the refusal of an operation on points whose result is no function of their distance.
NotRadial no_function(Op op);

// --- negligible ----------------------------------------------------------------------------------------------------
// Squared distances at which a formula is negligible for sure.

// Disjoint ranges of squared distances, in order.
class NegligibleRanges {
 public:
  // Finds the ranges up to `most` on which balls show that |k| is at most `enough`.
  NegligibleRanges(const Profile& k, double most, double enough);

  // Tells whether the formula is small everywhere from `least` to `most`.
  bool covers(double least, double most) const;
  // Tells whether the formula is small somewhere from `least` to `most`.
  bool meets(double least, double most) const;

 private:
  void add(double least, double most);
  void look(const Profile& k, double least, double most, double enough, int halvings);
  const ValueRange* first_that_ends_behind(double square) const;

  std::vector<ValueRange> ranges_;
};

}  // namespace distance
}  // namespace kernweave
