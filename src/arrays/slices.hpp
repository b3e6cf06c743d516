// Compares groups of points in one dimension: their projections on a direction are sorted once, and sums over the gaps
// between neighbours replace sums over pairs.
#pragma once
#include <cstdint>
#include <vector>
#include "arrays/pieces.hpp"

namespace kernweave::arrays {

// Points and directions, column after column: points have a column for each component, directions one column each.
struct Slices {
  const double* points;
  Index rows, width;
  const double* directions;
  Index count;
  Workers workers;
};

// The group of each row, from 1, and how many rows each group has.
struct RowGroups {
  const int* group_of;
  std::vector<Index> sizes;
};

// Other groups of the rows, eight labellings in a byte: bit l of row r in bytes[e * axes + a] says whether labelling
// 8 e + l has the row in group a. The last group needs no bytes, so `axes` is the number of groups less one. A
// labelling's number is the sum over gaps of gap * |factor * d|^2, where d has, for each axis, the rows of its group so
// far less its share of all rows so far. `factor` is an upper triangle, column after column.
struct Labellings {
  std::vector<const std::uint8_t*> bytes;
  std::vector<double> shares;
  const double* factor;
  Index axes() const { return static_cast<Index>(shares.size()); }
  Index eights() const { return static_cast<Index>(bytes.size()) / axes(); }
};

// Writes for each direction a matrix of groups by groups: energy distances, on the diagonal mean distances within
// groups. Adds the labellings' numbers over all directions, eight for each byte.
void compare_slices(const Slices& slices, const RowGroups& groups, const Labellings& labellings, double* distances,
                    double* numbers);

}  // namespace kernweave::arrays
