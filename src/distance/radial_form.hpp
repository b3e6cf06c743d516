// A radial formula, one of a squared distance: points, the profile (a formula of that distance alone), and factors of
// rows and columns.
#pragma once
#include <cstdint>
#include <vector>

#include "arrays/pieces.hpp"
#include "base/verdict.hpp"
#include "base/view.hpp"
#include "distance/profile.hpp"
#include "distance/sides.hpp"
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

}  // namespace distance
}  // namespace kernweave
