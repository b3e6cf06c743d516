// PTX instructions that C++ cannot express: tensor cores, asynchronous copies, conversions to halves, without a header
// of CUDA.
#pragma once
#include "../lane.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// sum (16 rows x 8 columns) += a (16 x 16, half) times b (16 x 8, half). Lane 4 g + t of the warp holds sum[r, c], a[r,
// k] and b[k, g] for r = g and g + 8, c = 2 t and 2 t + 1, k = 2 t, 2 t + 1, 2 t + 8 and 2 t + 9.
__device__ __forceinline__ void multiply_add(float (&sum)[4], const uint4& a, unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
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

// Converts two numbers to halves, the first in the low bits, and two halves to numbers.
__device__ __forceinline__ unsigned halves_of(float x, float y) {
  unsigned halves;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(halves) : "f"(y), "f"(x));
  return halves;
}
__device__ __forceinline__ void numbers_of(unsigned halves, float* x, float* y) {
  asm("{ .reg .b16 a, b; mov.b32 {a, b}, %2; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b; }"
      : "=f"(*x), "=f"(*y)
      : "r"(halves));
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
