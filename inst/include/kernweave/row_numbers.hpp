// Writes row numbers, on the host and on devices.
#pragma once
#include "lane.hpp"

namespace kernweave {
inline namespace KW_ISA {

// Row numbers, as ints if all of them fit, else as doubles. 0, which is "none", becomes the least int, or `none`.
struct RowNumbers {
  int* whole;
  double* wide;
  double none;

  KW_FN bool any() const { return whole != nullptr || wide != nullptr; }
  KW_FN void put(long long at, Index number) const {
    if (whole) whole[at] = number == 0 ? -2147483647 - 1 : static_cast<int>(number);
    if (wide) wide[at] = number == 0 ? none : static_cast<double>(number);
  }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
