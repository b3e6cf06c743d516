// Primitives that a device computes in its own way: float functions by hardware estimates of at most 2 units in the
// last place. Numbers below 1.2e-38 count as 0 there, divisors beyond 8.5e37 as infinite.
#pragma once

namespace kernweave {
inline namespace KW_ISA {
namespace primitive {

__device__ __forceinline__ double infinity() { return __longlong_as_double(0x7ff0000000000000); }
__device__ __forceinline__ float exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float sqrt(float x) {
  float y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float inverse_sqrt(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float divide(float x, float y) {
  float z;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(z) : "f"(y));
  return x * z;
}
__device__ __forceinline__ float lesser(float x, float y) { return fminf(x, y); }
__device__ __forceinline__ float greater(float x, float y) { return fmaxf(x, y); }
__device__ __forceinline__ double lesser(double x, double y) { return x < y ? x : y; }
__device__ __forceinline__ double greater(double x, double y) { return y < x ? x : y; }

}  // namespace primitive
}  // inline namespace KW_ISA
}  // namespace kernweave
