// Facts: what the schedule may know of data. Whoever holds the data computes them, once; nothing here reads data.
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

// Notes what a gather needs of row numbers: extremes, and whether all are finite.
void note_range(const View& view, Facts* facts);
// Notes what a condition needs of points: how far they reach from a centre.
void note_reach(const View& view, const std::vector<double>& centre, Facts* facts);

// The centre: a point in the middle of the finite entries. Any point near the middle does as well, so some rows are
// enough.
std::vector<double> centre_of(const View& view);
// Returns the step of the rows that are enough: 0, step, 2 step, ... These rows alone have the same centre.
std::int64_t step_of_centre(std::int64_t rows);

// Findings of a call: all that the plan's conditions are checked with, and where the data lie.
struct Findings {
  std::vector<std::vector<double>> centres;  // of each variable
  std::vector<Facts> variables;
  // The range of the factor's components, for each variant's requirements; NaN if a component is NaN.
  std::vector<std::vector<ValueRange>> factors;
  Home home = Home::host;
  Boxes boxes = Boxes::trial;
  std::vector<Growths> growths;  // of each variant, where boxes are thought of
};

}  // namespace kernweave
