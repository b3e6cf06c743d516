// Lower bound of a squared distance, |x|^2 + |y|^2 - 2 <x, y> less its error: each point has its square less its share
// of the error, and what screens compute of a pair is the inner product alone.
#pragma once
#include "../difference.hpp"
#include "arguments.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// Error bound of an inner product that a thread computes, relative to |x|^2 + |y|^2.
template <int kWidth>
inline constexpr float kScreenError = static_cast<float>(expansion_error(kWidth) * 0x1p-24);

// The error bound if tensor cores compute the inner product. In units of 2^-24, three instructions a step of 16
// components cut off 17 numbers each, squares are rounded once a component, and halves with what they leave cost less
// than 16.
template <int kWidth>
inline constexpr float kTensorError = (51.0f * ((kWidth + kProductDepth - 1) / kProductDepth) + kWidth + 16.0f) /
                                      16777216.0f;

// The square of a point less its error bound, and less what is lost where numbers are too small. Squares beyond a
// quarter of the largest number raise the flag: sums of two points' squares and products might be infinite on their
// way.
__device__ inline float least_square(const Head& head, float square, float error) {
  if (0x1p125f < square) *head.lost = 1;
  return square * (1.0f - error) - 1e-36f;
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
