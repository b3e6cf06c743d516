// Tensor cores in float32's precision: each number is two halves (float16), in the order of tensor cores. In float16's
// precision a number is one half, and the second half of a place belongs to the number 16 components further on.
#pragma once
#include "tensor_words.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// multiply_add() of halves in float32's precision: the smallest of their four products is left out, and the largest
// comes last. b holds its high halves, then its low ones.
__device__ __forceinline__ void multiply_add(float (&sum)[4], const uint4& high, const uint4& low, const uint4& b) {
  multiply_add(sum, low, b.x, b.y);
  multiply_add(sum, high, b.z, b.w);
  multiply_add(sum, high, b.x, b.y);
}

// The number of components in a step: 16 numbers of two halves, or 32 of one.
template <bool kHalves>
inline constexpr int kStepDepth = kHalves ? 2 * kProductDepth : kProductDepth;

// Adds the products of a step to a sum. a, b: the first and the second halves of their places.
template <bool kHalves>
__device__ __forceinline__ void add_step(float (&sum)[4], const uint4& first, const uint4& second, const uint4& b) {
  if constexpr (kHalves) {
    multiply_add(sum, first, b.x, b.y);
    multiply_add(sum, second, b.z, b.w);
  } else {
    multiply_add(sum, first, second, b);
  }
}

// Begins to copy chunks of 16 bytes to shared memory, all threads of a block together. Groups of kHere chunks lie side
// by side, and each group begins kThere chunks after the group before.
template <int kThreads, int kCount, int kHere, int kThere>
__device__ __forceinline__ void copy_chunks(uint4* shared, const uint4* from) {
#pragma unroll
  for (int u = 0; u < (kCount + kThreads - 1) / kThreads; ++u) {
    const unsigned c = threadIdx.x + u * kThreads;  // unsigned divides faster than int
    if (kCount % kThreads == 0 || c < kCount) copy_ahead(shared + c, from + c / kHere * kThere + c % kHere);
  }
}

// Splits two numbers into their high halves, and the low halves of the rests.
__device__ __forceinline__ void split(float x, float y, unsigned* high, unsigned* low) {
  float x_high, y_high;
  *high = halves_of(x, y);
  numbers_of(*high, &x_high, &y_high);
  *low = halves_of(x - x_high, y - y_high);
}

// Takes the components of a point one after the other, and splits each step of them into halves. `put` stores the first
// and the second halves of components 2 t, 2 t + 1, 2 t + 8 and 2 t + 9 of a step.
template <bool kHalves, class Put>
class StepsOfPoint {
 public:
  __device__ explicit StepsOfPoint(Put put) : put_(put) {}
  __device__ __forceinline__ void take(int component, float x) {
    held_[component % kDepth] = x;
    if (component % kDepth == kDepth - 1) end_step(component / kDepth);
  }

 private:
  static constexpr int kDepth = kStepDepth<kHalves>;

  __device__ __forceinline__ void end_step(int step) const {
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      uint2 first, second;
      split(held_[2 * t], held_[2 * t + 1], &first.x, &second.x);
      split(held_[2 * t + 8], held_[2 * t + 9], &first.y, &second.y);
      if constexpr (kHalves) {
        second.x = halves_of(held_[2 * t + 16], held_[2 * t + 17]);
        second.y = halves_of(held_[2 * t + 24], held_[2 * t + 25]);
      }
      put_(step, t, first, second);
    }
  }

  Put put_;
  float held_[kDepth];
};

// Returns a scale of numbers: a power of two that brings the largest to between 2^13 and 2^14, so that no low half is
// lost; 0 if a number is infinite and so has no halves.
__device__ __forceinline__ float scale_for(float largest) {
  const int exponent = (__float_as_int(largest) >> 23) - 127;
  const int raise = 13 - exponent > 100 ? 100 : 13 - exponent;
  return largest < __int_as_float(0x7f800000) ? __int_as_float((raise + 127) << 23) : 0.0f;
}
__device__ __forceinline__ float inverse_scale(float scale) {
  return __int_as_float((254 << 23) - __float_as_int(scale));
}

// Returns the larger of `largest` and |x|. NaN does not count: its halves are NaN as well.
__device__ __forceinline__ float larger(float largest, float x) { return fmaxf(largest, fabsf(x)); }

// Orders of the halves in memory, as tensor cores read them: 16 bytes a lane.
struct RowOrder {
  static __device__ void put(unsigned* to, long long point, int steps, int step, int t, uint2 first, uint2 second) {
    const int g = static_cast<int>(point & 7), half = static_cast<int>(point >> 3 & 1);
    unsigned* const at = to + (((point >> 4) * steps + step) * 64 + g * 4 + t) * 4 + half;
    at[0] = first.x, at[2] = first.y;
    at[128] = second.x, at[130] = second.y;
  }
};
struct ColumnOrder {
  static __device__ void put(unsigned* to, long long point, int steps, int step, int t, uint2 first, uint2 second) {
    const int g = static_cast<int>(point & 7);
    uint4* const at = reinterpret_cast<uint4*>(to) + ((point >> 3) * steps + step) * 32 + g * 4 + t;
    *at = uint4{first.x, first.y, second.x, second.y};
  }
};

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
