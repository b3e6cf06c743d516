// A radial formula, one of a squared distance: points, the profile (a formula of that distance alone), and factors of
// rows and columns.
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

// The formula of a pair is the profile at its squared distance, where there is a power times each component of the
// difference to that power. Each component of the formula is a sum of these D values times its `numbers`, times the
// factors of the row and of the column.
struct RadialForm {
  int width = 0;         // components of the points
  int components = 1;    // of the formula
  bool adds_up = false;  // is it the sum of these, whose factors of rows differ?
  Side rows, columns;
  Profile profile;
  int power = 0;
  // One for each component of the formula; with a power, one for each component of the points.
  std::vector<double> numbers = {1};
};

// Recognises a radial form in the plan of a formula as it is written. The verdict says why it is none.
Verdict recognise_radial(const Plan& plan, const std::vector<View>& data, std::int64_t rows, std::int64_t columns,
                   const arrays::Workers& workers, RadialForm* form);

// Tells whether the points of both sides are the same, without factors, and the formula falls with the distance, as far
// as samples tell.
bool falls_between_same(const RadialForm& form, const arrays::Workers& workers);

// --- not radial ----------------------------------------------------------------------------------------------------
// The reason why a formula is none of one distance: thrown where that is found, and caught by recognise_radial().

struct NotRadial {
  std::string why;
};
// The refusal of an operation on points that makes no function of their distance.
NotRadial no_function(Op op);

// --- negligible ----------------------------------------------------------------------------------------------------
// Squared distances on which a formula is negligible for sure.

// Ranges of squared distances, in order, apart from each other.
class NegligibleRanges {
 public:
  // The ranges up to `most` on which |k| is no more than `enough`, as far as balls show.
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
