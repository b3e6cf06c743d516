// Offsets from a box of a level to another, in boxes, and their canonical form: a distance is the same under signed
// permutations of the axes.
#pragma once
#include <array>
#include <cstdlib>
#include <utility>

namespace kernweave {
namespace far {

template <int D>
using Offset = std::array<int, D>;

// Signed permutations, from the canonical offset back to the offset: three bits for signs, and a number for the order
// of the axes.
constexpr int kSignedPermutations = 48;

template <int D>
struct CanonicalOffset {
  Offset<D> at;  // not negative, the largest first
  int permutation;
};

// The axes of the offset, by those of the canonical one.
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

}  // namespace far
}  // namespace kernweave
