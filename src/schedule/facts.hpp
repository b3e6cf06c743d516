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
// Those are rows 0, step, 2 step, ... of so many. Of them alone, it is the same.
std::int64_t step_of_centre(std::int64_t rows);

// Findings of a call: all that the plan's conditions are checked with, and where the data lie.
struct Findings {
  std::vector<std::vector<double>> centres;  // of each variable
  std::vector<Facts> variables;
  // Of each variant's requirements: the range of the factor's components; NaN where one is.
  std::vector<std::vector<ValueRange>> factors;
  Home home = Home::host;
  Boxes boxes = Boxes::trial;
  std::vector<Growths> growths;  // of each variant, where boxes are thought of
};

}  // namespace kernweave
