// Instruction sets: the sets of this build that this machine has, by name; the set that a source is compiled for, which
// the source names by KW_AVX512, KW_AVX2 or KW_BASE; and the pair of macros around the code of the source, after the
// headers that must not be compiled for one set only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <math.h>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Code between KW_TARGET_BEGIN and KW_TARGET_END is compiled for these extensions, whatever the compiler's flags say.
#define KW_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define KW_TARGET_BEGIN(extensions) \
  KW_PRAGMA(clang attribute push(__attribute__((target(extensions))), apply_to = function))
#define KW_TARGET_END KW_PRAGMA(clang attribute pop)
#else
#define KW_TARGET_BEGIN(extensions) KW_PRAGMA(GCC push_options) KW_PRAGMA(GCC target(extensions))
#define KW_TARGET_END KW_PRAGMA(GCC pop_options)
#endif

#if defined(KW_AVX512)
#define KW_ISA avx512
#define KW_VECTOR_BYTES 64
#define KW_ISA_BEGIN KW_TARGET_BEGIN("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")
#define KW_ISA_END KW_TARGET_END
#elif defined(KW_AVX2)
#define KW_ISA avx2
#define KW_VECTOR_BYTES 32
#define KW_ISA_BEGIN KW_TARGET_BEGIN("avx2,fma")
#define KW_ISA_END KW_TARGET_END
#elif defined(KW_BASE)  // instructions that every machine of this architecture has
#define KW_ISA base
#define KW_VECTOR_BYTES 16
#define KW_ISA_BEGIN
#define KW_ISA_END
#endif

namespace kernweave {

#if defined(KW_VECTOR_BYTES)
inline namespace KW_ISA {
constexpr int kVectorBytes = KW_VECTOR_BYTES;
}  // inline namespace KW_ISA
#endif

// Lists the instruction sets, best first; never empty.
const std::vector<std::string>& instruction_sets();

// Returns the set in use: the best, until another set is asked for by name.
const std::string& instruction_set();
// Chooses a set by name; "" for the best. A user failure if this machine or this build has no set of that name.
void use_instruction_set(const std::string& name);

}  // namespace kernweave
