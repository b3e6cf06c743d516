// Takes a formula apart at the squared distance: the points that it is a distance of, what it is a formula of, and
// factors of either side alone.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "arrays/pieces.hpp"
#include "base/verdict.hpp"
#include "base/view.hpp"
#include "distance/profile.hpp"
#include "plan/plan.hpp"

namespace kernweave {
namespace distance {

// The points of one side, their components one after the other, and a factor of each; no factors where all are 1.
// Factors of rows may be one for each component of the formula.
struct Side {
  std::int64_t count = 0;
  std::vector<double> points, factors;
};

// The formula is the profile, times the difference of the points to a power, component by component; of these, each
// component of the formula is a sum, times numbers and factors.
struct Cut {
  int width = 0;         // components of the points
  int components = 1;    // of the formula,
  bool adds_up = false;  // or of what it is the sum of, where factors of rows differ
  Side rows, columns;
  Profile profile;
  int power = 0;
  // Of each component of the formula one, and with a power one for each component of the points.
  std::vector<double> numbers = {1};
};

// Of the plan of a formula as it is written, reduced over either axis. Of no use to formulas that are no function of a
// distance: then it says why.
Verdict take_apart(const Plan& plan, const std::vector<View>& data, std::int64_t rows, std::int64_t columns,
                   const arrays::Workers& workers, Cut* cut);

// Places of points are numbers of type int.
void check_counts(const Cut& cut);

// Are the points of both sides the same, without factors, and does the formula fall as they move apart? As far as
// samples tell.
bool falls_between_same(const Cut& cut);

}  // namespace distance
}  // namespace kernweave
