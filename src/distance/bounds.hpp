// How large a formula of the squared distance can be, and how far its Chebyshev series can be off.
#pragma once
#include <string>

#include "distance/profile.hpp"

namespace kernweave {
namespace distance {

// Squared distances.
struct Reach {
  double least = 0, most = 0;

  // With one component more, of points that have numbers from `least` to `most` of it, and of others.
  void add(double least_of_one, double most_of_one, double least_of_other, double most_of_other);
};

// A largest value with digits to spare.
constexpr double kSmallestScale = 1e-290;
// The largest |k| that samples of squared distances find: from `least` to `most`, of those where it is finite. With a
// power, of |k| times the distance to it.
double largest_found(const Profile& k, double least, double most, int power = 0);

// May values be far others where points are rounded to float32, within a cube so wide? Of a formula that is infinite at
// distance 0, that jumps, or turns with the difference; `scale` is its largest value.
bool is_rough(const Profile& k, double width, int power, double scale);

// Why there is no series at such distances, as the end of a sentence: an operation that has none; empty where it is
// none of them.
std::string why_no_series(const Profile& k, double least, double most);

// No less than |k| on squared distances from `least` to `most`. Once it is below `enough` it is not made tighter.
double largest(const Profile& k, double least, double most, double enough);

// Of z -> k(z^2 + c) for z no farther than `half` from `middle` and c from `c_least` to `c_most`: no less than what
// interpolation in `points` Chebyshev points may be off by. Once it is below `goal` it is not made tighter; infinite
// where nothing could be shown, or nothing as small as what is allowed.
struct Stretch {
  double middle, half, c_least, c_most;
};
double interpolation_error(const Profile& k, const Stretch& stretch, int points, double goal, double allowed);

}  // namespace distance
}  // namespace kernweave
