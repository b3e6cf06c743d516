// Tensor cores in float32's precision: numbers as two halves, and the order in which these lie.
#pragma once
#include "tensor_words.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// multiply_add() of halves, in float32's precision: of their four products the smallest is left out, and the largest
// comes last. b holds its high halves, then its low ones.
__device__ __forceinline__ void multiply_add(float (&sum)[4], const uint4& high, const uint4& low, const uint4& b) {
  multiply_add(sum, low, b.x, b.y);
  multiply_add(sum, high, b.z, b.w);
  multiply_add(sum, high, b.x, b.y);
}

// Splits two numbers: their high halves, and the low halves of what those leave.
__device__ __forceinline__ void split(float x, float y, unsigned* high, unsigned* low) {
  float x_high, y_high;
  *high = halves_of(x, y);
  numbers_of(*high, &x_high, &y_high);
  *low = halves_of(x - x_high, y - y_high);
}

// Puts the two halves of a number where they belong.
__device__ __forceinline__ void put_halves(float x, unsigned short* high, unsigned short* low) {
  unsigned of_high, of_low;
  split(x, 0.0f, &of_high, &of_low);
  *high = static_cast<unsigned short>(of_high);
  *low = static_cast<unsigned short>(of_low);
}

// Scale of some numbers: a power of two that brings the largest to between 2^13 and 2^14, so that no low half is lost.
// 0 where one is infinite and has no halves.
__device__ __forceinline__ float scale_for(float largest) {
  const int exponent = (__float_as_int(largest) >> 23) - 127;
  const int raise = 13 - exponent > 100 ? 100 : 13 - exponent;
  return largest < __int_as_float(0x7f800000) ? __int_as_float((raise + 127) << 23) : 0.0f;
}
__device__ __forceinline__ float inverse_scale(float scale) {
  return __int_as_float((254 << 23) - __float_as_int(scale));
}

// The larger size of two. NaN does not count: its halves are NaN as well.
__device__ __forceinline__ float larger(float largest, float x) { return fmaxf(largest, fabsf(x)); }

// Order of the halves in memory, as tensor cores read them: 16 bytes a lane.
struct RowOrder {
  static __device__ long long at(long long point, int component, int steps, int low) {
    const int g = static_cast<int>(point & 7), half = static_cast<int>(point >> 3 & 1), k = component & 15,
              t = (k & 7) >> 1;
    const long long chunk = (((point >> 4) * steps + (component >> 4)) * 2 + low) * 32 + g * 4 + t;
    return chunk * 8 + (half + 2 * (k >> 3)) * 2 + (k & 1);
  }
};
struct ColumnOrder {
  static __device__ long long at(long long point, int component, int steps, int low) {
    const int g = static_cast<int>(point & 7), k = component & 15, t = (k & 7) >> 1;
    const long long chunk = ((point >> 3) * steps + (component >> 4)) * 32 + g * 4 + t;
    return chunk * 8 + low * 4 + (k >> 3) * 2 + (k & 1);
  }
};

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
