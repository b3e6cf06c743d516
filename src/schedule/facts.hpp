// Facts: the properties of data that the schedule may use.
#pragma once
#include <cstdint>
#include <vector>
#include "base/view.hpp"
#include "schedule/schedule.hpp"

namespace kernweave {

struct Facts {
  std::int64_t rows = 0;
  double least = 0;    // over all finite entries; Inf if there is none
  double largest = 0;  // -Inf if there is none
  bool finite = true;  // are all entries finite?
  double reach = 0;    // largest squared distance of a row from the centre; NaN if an entry is not finite
};

// Notes facts of row numbers for a gather: extremes, and whether all are finite.
void note_range(const View& view, Facts* facts);
// Notes the reach of points for a condition: the largest squared distance from a centre.
void note_reach(const View& view, const std::vector<double>& centre, Facts* facts);

// The centre: a point in the middle of the finite entries. Any point near the middle does as well, so some rows are
// enough.
std::vector<double> centre_of(const View& view);
// Returns the step of the rows that centre_of() reads: 0, step, 2 step, ...
std::int64_t step_of_centre(std::int64_t rows);

// The findings of a call: the facts with which the plan's conditions are checked, and the place of the data.
struct Findings {
  std::vector<std::vector<double>> centres;  // the centre of each variable
  std::vector<Facts> variables;
  // The range of the factor's components, for each variant's requirements; NaN if a component is NaN.
  std::vector<std::vector<ValueRange>> factors;
  Home home = Home::host;
  Boxes boxes = Boxes::trial;
  std::vector<Growths> growths;  // the growths of each variant, if boxes are considered
};

}  // namespace kernweave
