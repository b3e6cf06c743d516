// The pairs of points for which a formula of their distance is negligible: tight boxes of points in any number of
// components, and the pairs of boxes that are left.
#pragma once
#include <vector>

#include "arrays/pieces.hpp"
#include "distance/radial_form.hpp"
#include "far/levels.hpp"

namespace kernweave {
namespace far {

// The threshold up to which values may be left out.
struct Allowance {
  double tolerance = 0;
  bool relative = true;  // to the largest value
};

struct Truncation {
  std::vector<int> rows, columns;    // the points in order
  std::vector<Rectangle> kept;       // by places in that order; rows in order, columns in order
  double kept_pairs = 0;
  double largest_left_out = 0;  // no value is larger of a pair that is not kept
  double scale = 0;             // the largest value of the formula, times the largest factors of rows and columns
};

Truncation truncated(const distance::RadialForm& form, const Allowance& allowance, const arrays::Workers& workers);

}  // namespace far
}  // namespace kernweave
