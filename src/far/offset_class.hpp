// A class of offsets, equal up to signs and the order of axes: is a pair of boxes at one negligible, or admissible for
// an expansion of the kernel, and with which error?
#pragma once
#include "distance/profile.hpp"
#include "far/offset.hpp"
#include "far/kernel_expansion.hpp"

namespace kernweave {
namespace far {

// How errors add up in a bound: in a proof by their sizes, which no error exceeds; for an audit by their squares, as
// signs cancel.
enum class Grade { proof, audit };

struct Demands {
  double tolerance = 0;  // that the value of a pair of points may be off by
  Grade grade = Grade::audit;
  int power = 0;  // of each component of the difference, which the formula is multiplied by
};

// The treatment of a pair of boxes: left out, expanded, computed pair by pair, or subdivided into pairs of children. No
// class is near: that depends on how many points boxes have.
enum class Admissibility { negligible, admissible, near, subdivided };

struct OffsetClass {
  Admissibility admissibility = Admissibility::subdivided;
  // The error of leaving out, or of the expansion, without the difference. In a proof small coefficients are not in it:
  // they count times the moments of a product's weights (M2LMatrix).
  double bound = 0;
  KernelExpansion expansion;
  double kept = 0;  // how many coefficients are kept
};

// The largest number of degrees along an axis.
template <int D>
constexpr int kMostDegreesOf = D == 1 ? 40 : D == 2 ? 24 : 14;

// How far points of two boxes can be apart along an axis.
double reach_along(int offset, double half);

// The class of an offset, of boxes whose sides are twice `half` long. Pairs have no use for an expansion of more than
// `most_coefficients`.
template <int D>
OffsetClass class_of(const distance::Profile& k, const Demands& demands, const Offset<D>& offset, double half,
                  double most_coefficients);

}  // namespace far
}  // namespace kernweave
