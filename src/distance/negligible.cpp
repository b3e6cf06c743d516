// Each doubling of the squared distance is cut into halves, so that what ends at a distance that is small beside the
// largest one is found as well as what does not.
#include "distance/negligible.hpp"

#include <algorithm>
#include <cmath>

namespace kernweave {
namespace distance {
namespace {

// Below the last doubling is one range. An end is missed by no more than a thousandth.
constexpr int kDoublings = 160, kHalvingsOfLook = 10;

}  // namespace

NegligibleRanges::NegligibleRanges(const Profile& k, double most, double enough) {
  look(k, 0, std::ldexp(most, -kDoublings), enough, 0);
  for (int doubling = kDoublings; doubling > 0; --doubling)
    look(k, std::ldexp(most, -doubling), std::ldexp(most, 1 - doubling), enough, kHalvingsOfLook);
}

void NegligibleRanges::look(const Profile& k, double least, double most, double enough, int halvings) {
  const Ball ball = k.over(Ball::between(least, most));
  if (ball.size() <= enough) return add(least, most);
  const bool nowhere = ball.known() && std::abs(ball.centre) - ball.radius > enough;
  if (nowhere || halvings == 0) return;
  const double middle = least + (most - least) / 2;
  look(k, least, middle, enough, halvings - 1);
  look(k, middle, most, enough, halvings - 1);
}

void NegligibleRanges::add(double least, double most) {
  if (!ranges_.empty() && ranges_.back().most == least) ranges_.back().most = most;
  else ranges_.push_back({least, most});
}

const ValueRange* NegligibleRanges::first_that_ends_behind(double square) const {
  const auto at = std::lower_bound(ranges_.begin(), ranges_.end(), square,
                                   [](const ValueRange& range, double value) { return range.most < value; });
  return at == ranges_.end() ? nullptr : &*at;
}

bool NegligibleRanges::covers(double least, double most) const {
  const ValueRange* const at = first_that_ends_behind(most);
  return at && at->least <= least;
}

bool NegligibleRanges::meets(double least, double most) const {
  const ValueRange* const at = first_that_ends_behind(least);
  return at && at->least <= most;
}

}  // namespace distance
}  // namespace kernweave
