// What the schedule may know of data: computed once by whoever holds them, never from here.
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

// What row numbers are asked for: extremes, and whether all are finite.
void note_range(const View& view, Facts* facts);
// What points are asked for: how far they reach from a centre.
void note_reach(const View& view, const std::vector<double>& centre, Facts* facts);

// A point in the middle of the finite entries. Any point near the middle does as well, so some rows are enough.
std::vector<double> centre_of(const View& view);

// From the least to the largest component of a value; NaN where one is.
struct Span {
  double least, most;
};

// All that a plan's conditions are held against, and where the data lie.
struct Findings {
  std::vector<Facts> variables;
  std::vector<std::vector<Span>> factors;  // of each variant's requirements
  Home home = Home::host;
};

}  // namespace kernweave
