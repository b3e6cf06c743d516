// Optimisation barrier: hides from the compiler how a number was made.
#pragma once

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// Returns its argument, of which the compiler then knows only that it lies in a register. Else nvcc makes a count anew
// from the launch's arguments for every strip, and computes ahead, for every term, what only a rare branch needs of it.
#ifdef __CUDA_ARCH__
__device__ __forceinline__ int opaque(int number) {
  asm volatile("" : "+r"(number));
  return number;
}
__device__ __forceinline__ float opaque(float number) {
  asm volatile("" : "+f"(number));
  return number;
}
__device__ __forceinline__ double opaque(double number) {
  asm volatile("" : "+d"(number));
  return number;
}
#else
template <class T>
__device__ T opaque(T number) {
  return number;
}
#endif

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
