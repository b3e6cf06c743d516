// The tile evaluator in AVX2.
#pragma once
#include "cpu/kernels.hpp"
#include "lanes/isa.hpp"

#if defined(__x86_64__)
#define KW_ISA avx2
KW_TARGET_BEGIN("avx2,fma")
namespace kernweave {
inline namespace KW_ISA {
constexpr int kVectorBytes = 32;
}  // inline namespace KW_ISA
}  // namespace kernweave
#include "cpu/lanes-inl.hpp"
KW_TARGET_END
#endif
