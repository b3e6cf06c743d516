// Tensor cores: their instructions, without a header of CUDA's, and float32 numbers as two halves.
#pragma once
#include "../lane.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// sum (16 rows x 8 columns) += a (16 x 16, half) times b (16 x 8, half). Lane 4 g + t of the warp holds of the sum rows
// g and g + 8, columns 2 t and 2 t + 1; of a those rows, of b column g, each at 2 t, 2 t + 1, 2 t + 8 and 2 t + 9.
__device__ __forceinline__ void multiply_add(float (&sum)[4], const uint4& a, unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

// The same in float32's precision: of the four products of halves the smallest is left out, and the largest comes last.
// b holds its high halves, then its low ones.
__device__ __forceinline__ void multiply_add(float (&sum)[4], const uint4& high, const uint4& low, const uint4& b) {
  multiply_add(sum, low, b.x, b.y);
  multiply_add(sum, high, b.z, b.w);
  multiply_add(sum, high, b.x, b.y);
}

// Copies 16 bytes to shared memory, without waiting. Copies are waited for by groups.
__device__ __forceinline__ void copy_ahead(uint4* shared, const uint4* from) {
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))),
      "l"(from));
}
__device__ __forceinline__ void end_group() { asm volatile("cp.async.commit_group;"); }
template <int kGroupsLeft>
__device__ __forceinline__ void wait_for_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroupsLeft));
}

// Splits two numbers: their high halves, and the low halves of what those leave.
__device__ __forceinline__ void split(float x, float y, unsigned* high, unsigned* low) {
  float x_left, y_left;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(*high) : "f"(y), "f"(x));
  asm("{ .reg .b16 a, b; mov.b32 {a, b}, %2; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b; }"
      : "=f"(x_left), "=f"(y_left)
      : "r"(*high));
  x_left = x - x_left;
  y_left = y - y_left;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(*low) : "f"(y_left), "f"(x_left));
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
