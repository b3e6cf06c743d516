// Pairs of boxes with the same offset up to signs and the order of axes: may they be left out, or replaced by a series,
// and by how much is that off?
#pragma once
#include "distance/profile.hpp"
#include "far/offset.hpp"
#include "far/pair_series.hpp"

namespace kernweave {
namespace far {

// How a bound is reckoned: sums of what is dropped are never exceeded; roots of sums of squares are what signs that
// cancel leave, and have to be audited.
enum class Grade { proof, audit };

struct Demands {
  double tolerance = 0;  // of the value of a pair
  Grade grade = Grade::audit;
  int power = 0;  // of a component of the difference, which the formula is multiplied by
};

// What becomes of pairs of boxes: left out, replaced by a series, computed pair by pair, or taken up again as pairs of
// their children. No class is near: that depends on how many points boxes have.
enum class Fate { skipped, far, near, split };

struct BoxClass {
  Fate fate = Fate::split;
  // Of what skipping, or the series, is off by; times the difference, if that is multiplied. In a proof but for small
  // coefficients, which the moments of weights are asked about (ClassMatrix).
  double bound = 0;
  PairSeries series;
  double kept = 0;  // how many of its coefficients are
};

// The largest number of degrees.
template <int D>
constexpr int kMostDegreesOf = D == 1 ? 40 : D == 2 ? 24 : 14;

// How far points of two boxes can be apart along an axis.
double reach_along(int offset, double half);

// Of boxes whose sides are twice `half` long. Series of more terms than `most_terms` are of no use to any of them.
template <int D>
BoxClass analysed(const distance::Profile& k, const Demands& demands, const Offset<D>& offset, double half,
                  double most_terms);

}  // namespace far
}  // namespace kernweave
