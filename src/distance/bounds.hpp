// How large the profile, a formula k of the squared distance, can be, and how far its Chebyshev series can be off.
#pragma once
#include <string>

#include "distance/profile.hpp"

namespace kernweave {
namespace distance {

// The squared distances that points of two boxes can have.
struct DistanceRange {
  double least = 0, most = 0;

  // One more component: the boxes reach from `least` to `most` along it.
  void add(double least_of_one, double most_of_one, double least_of_other, double most_of_other);
};

// A largest value below this one counts as 0: it has no digits to spare.
constexpr double kSmallestScale = 1e-290;
// The largest finite |k| that samples find at squared distances from `least` to `most`; with a power, the largest |k|
// times the distance to that power.
double largest_found(const Profile& k, double least, double most, int power = 0);

// May values of points in a cube of this width be far off once the points are rounded to float32? They are where the
// formula is infinite at distance 0, jumps, or turns with the difference. `scale` is its largest value.
bool is_rough(const Profile& k, double width, int power, double scale);

// Why there is no series at such distances: a clause about the operation that has none, or an empty text.
std::string why_no_series(const Profile& k, double least, double most);

// A bound of |k| on squared distances from `least` to `most`, no tighter than `enough` asks for.
double largest(const Profile& k, double least, double most, double enough);

// A bound of what interpolation of z -> k(z^2 + c) in `points` Chebyshev points is off by, for z no farther than `half`
// from `middle` and c from `c_least` to `c_most`. It is no tighter than `goal` asks for, and infinite where nothing
// could be shown, or nothing as small as `allowed`.
struct SeriesDomain {
  double middle, half, c_least, c_most;
};
double interpolation_error(const Profile& k, const SeriesDomain& domain, int points, double goal, double allowed);

}  // namespace distance
}  // namespace kernweave
