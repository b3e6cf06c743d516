// Sums over all pairs of rows of the distances of two variables, |x_i - x_j| |y_i - y_j|, by sorting instead of a loop
// over pairs. Sums are kept in two doubles each, since statistics are small differences of them.
#pragma once
#include "arrays/pieces.hpp"

namespace kernweave::arrays {

// Two variables of the same rows, and orders of the rows of y: numbers from 1, one order after another.
struct TwoLines {
  const double *x, *y;
  Index rows;
  const int* orders;
  Index count;
  Workers workers;
};

// Three sums each: of x and y, of x and x, of y and y. `centred`: the sums of centred distance matrices, whose rows and
// columns add up to 0.
struct DistanceSums {
  double raw[3], centred[3];
};

// Writes the sums of the rows of both matrices, and for each order the centred sum of x and of y in that order.
DistanceSums distance_sums(const TwoLines& lines, double* rows_x, double* rows_y, double* numbers);

}  // namespace kernweave::arrays
