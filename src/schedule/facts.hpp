// What the schedule may know of data: computed once by whoever holds them, never from here.
#pragma once
#include <cstdint>
#include <vector>
#include "base/view.hpp"

namespace kernweave {

struct Facts {
  std::int64_t rows = 0;
  double least = 0;     // over all finite entries; Inf if there is none
  double largest = 0;   // -Inf if there is none
  bool finite = true;   // are all entries finite?
  std::vector<double> centre;  // mean of each column's finite entries
  double radius = 0;           // largest distance of a finite entry from its column's centre
};

Facts facts_of(const View& view);

}  // namespace kernweave
