// A class: pairs of boxes with the same offset up to signs and the order of axes. May they be left out, or replaced by
// a series, and by how much is that off?
#pragma once
#include "distance/profile.hpp"
#include "far/offset.hpp"
#include "far/pair_series.hpp"

namespace kernweave {
namespace far {

// How a bound is reckoned. In a proof what is dropped is added up, which no error exceeds; for an audit it is the root
// of the sum of squares, which is what signs that cancel leave.
enum class Grade { proof, audit };

struct Demands {
  double tolerance = 0;  // that the value of a pair of points may be off by
  Grade grade = Grade::audit;
  int power = 0;  // of each component of the difference, which the formula is multiplied by
};

// What becomes of pairs of boxes: left out, replaced by a series, computed pair by pair, or taken up again as pairs of
// their children. No class is near: that depends on how many points boxes have.
enum class Fate { skipped, far, near, split };

struct BoxClass {
  Fate fate = Fate::split;
  // What skipping, or the series, is off by, without the difference. In a proof small coefficients are not in it: they
  // count times the moments of a product's weights (ClassMatrix).
  double bound = 0;
  PairSeries series;
  double kept = 0;  // how many coefficients are kept
};

// The largest number of degrees along an axis.
template <int D>
constexpr int kMostDegreesOf = D == 1 ? 40 : D == 2 ? 24 : 14;

// How far points of two boxes can be apart along an axis.
double reach_along(int offset, double half);

// The class of an offset, of boxes whose sides are twice `half` long. Pairs have no use for a series of more than
// `most_coefficients`.
template <int D>
BoxClass class_of(const distance::Profile& k, const Demands& demands, const Offset<D>& offset, double half,
                  double most_coefficients);

}  // namespace far
}  // namespace kernweave
