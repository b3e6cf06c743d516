// The points of a side of a matrix, its rows or its columns, and their factors: what is asked before they are used.
#pragma once
#include <cstdint>
#include <vector>

#include "arrays/pieces.hpp"

namespace kernweave {
namespace distance {

// Points lie component by component, and so do factors: one for each point, or one for each component of the formula.
// There are none where all are 1.
struct Side {
  std::int64_t count = 0;
  std::vector<double> points, factors;
};

// Errors for too many points, as places of points are of type int, and for the first number that is not finite.
void check_count(const Side& side);
void check_points(const Side& side, const char* axis, const arrays::Workers& workers);
void check_factors(const Side& side, const char* axis, const arrays::Workers& workers);

bool have_same_points(const Side& a, const Side& b, const arrays::Workers& workers);
bool have_same_factors(const Side& a, const Side& b, const arrays::Workers& workers);

// The largest size of a factor.
double largest_factor(const Side& side);

}  // namespace distance
}  // namespace kernweave
