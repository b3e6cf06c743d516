// Squared distances on which a formula is negligible for sure.
#pragma once
#include <vector>

#include "base/range.hpp"
#include "distance/profile.hpp"

namespace kernweave {
namespace distance {

// Ranges of squared distances, in order, apart from each other.
class NegligibleRanges {
 public:
  // The ranges up to `most` on which |k| is no more than `enough`, as far as balls show.
  NegligibleRanges(const Profile& k, double most, double enough);

  // Tells whether the formula is small everywhere from `least` to `most`.
  bool covers(double least, double most) const;
  // Tells whether the formula is small somewhere from `least` to `most`.
  bool meets(double least, double most) const;

 private:
  void add(double least, double most);
  void look(const Profile& k, double least, double most, double enough, int halvings);
  const ValueRange* first_that_ends_behind(double square) const;

  std::vector<ValueRange> ranges_;
};

}  // namespace distance
}  // namespace kernweave
