// Numbers of which compilers are to know nothing but that they lie in a register.
#pragma once

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// The same number. A count that they would rather find again from the launch's arguments, a quarter of the instructions
// of a strip that asks what is left of its tile; a term for whose rare uses they would prepare at every one.
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
