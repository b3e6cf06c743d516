// A class of offsets, equal up to signs and the order of axes: tells whether pairs of boxes at the offset are
// negligible, or admissible for an expansion of the kernel, and bounds the error.
#pragma once
#include <array>
#include <cstdlib>
#include <utility>
#include "distance/profile.hpp"
#include "far/kernel_expansion.hpp"

namespace kernweave {
namespace far {

// --- offset ---------------------------------------------------------------------------------------------------------
// Offsets between boxes of a level, in widths of a box, and their canonical form: distances are invariant under signed
// permutations of the axes.

template <int D>
using Offset = std::array<int, D>;

// The count of signed permutations, which map the canonical offset to the offset: three bits for signs, and a number
// for the order of the axes.
constexpr int kSignedPermutations = 48;

template <int D>
struct CanonicalOffset {
  Offset<D> at;  // not negative, the largest first
  int permutation;
};

// Returns the axis of the offset for each axis of the canonical offset.
template <int D>
Offset<D> axes_of(int permutation) {
  const int number = permutation >> 3;
  if constexpr (D == 1) return {0};
  else if constexpr (D == 2) return {number, 1 - number};
  else {
    const int first = number / 2, low = first == 0 ? 1 : 0, high = 3 - first - low;
    return number % 2 ? Offset<D>{first, high, low} : Offset<D>{first, low, high};
  }
}
// Tells whether the offset is negative along this axis.
inline bool is_reflected(int permutation, int axis) { return permutation >> axis & 1; }

template <int D>
CanonicalOffset<D> canonical(const Offset<D>& offset) {
  Offset<D> size, axes;
  int signs = 0;
  for (int d = 0; d < D; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    size[axis] = std::abs(offset[axis]);
    if (offset[axis] < 0) signs |= 1 << d;
    axes[axis] = d;
  }
  const auto size_of = [&](std::size_t place) { return size[static_cast<std::size_t>(axes[place])]; };
  for (std::size_t a = 0; a < D; ++a)
    for (std::size_t b = a + 1; b < D; ++b)
      if (size_of(b) > size_of(a)) std::swap(axes[a], axes[b]);
  CanonicalOffset<D> found;
  for (std::size_t d = 0; d < D; ++d) found.at[d] = size[static_cast<std::size_t>(axes[d])];
  int number = 0;
  if constexpr (D == 2) number = axes[0];
  if constexpr (D == 3) number = axes[0] * 2 + (axes[1] > axes[2]);
  found.permutation = signs | number << 3;
  return found;
}

// The grade of an error bound: a proof adds the sizes of errors, which no error exceeds; an audit adds their squares,
// as signs cancel.
enum class Grade { proof, audit };

struct Demands {
  double tolerance = 0;  // the largest error of the value of a pair of points
  Grade grade = Grade::audit;
  int power = 0;  // the power of each component of the difference that multiplies the formula
};

// The treatment of a pair of boxes: left out, expanded, computed pair by pair, or subdivided into pairs of children. No
// class is near: `near` depends on the numbers of points in boxes.
enum class Admissibility { negligible, admissible, near, subdivided };

struct OffsetClass {
  Admissibility admissibility = Admissibility::subdivided;
  // The error of leaving pairs out, or of the expansion, without the factor of the difference. In a proof, small
  // coefficients are not included: they are multiplied by moments of a product's weights (M2LMatrix).
  double bound = 0;
  KernelExpansion expansion;
  double kept = 0;  // number of coefficients that are kept
};

// The largest number of degrees along an axis.
template <int D>
constexpr int kMostDegreesOf = D == 1 ? 40 : D == 2 ? 24 : 14;

// Returns the largest distance of points of two boxes along an axis.
double reach_along(int offset, double half);

// Returns the class of an offset, for boxes with sides of 2 `half`. An expansion of more than `most_coefficients`
// coefficients is slower than the pairs, so it is not made.
template <int D>
OffsetClass class_of(const distance::Profile& k, const Demands& demands, const Offset<D>& offset, double half,
                  double most_coefficients);

}  // namespace far
}  // namespace kernweave
