// Every header that the tile evaluator stands on and that must not be compiled for one instruction set only.
// Then the pair of macros around what must be.
#pragma once
#include <cstddef>
#include <cstdint>
#include <math.h>
#include <new>
#include <type_traits>
#include <utility>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "cpu/kernels.hpp"

// Code between the two is compiled for the named extensions, whatever the compiler's flags say.
#define KW_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define KW_TARGET_BEGIN(extensions) \
  KW_PRAGMA(clang attribute push(__attribute__((target(extensions))), apply_to = function))
#define KW_TARGET_END KW_PRAGMA(clang attribute pop)
#else
#define KW_TARGET_BEGIN(extensions) KW_PRAGMA(GCC push_options) KW_PRAGMA(GCC target(extensions))
#define KW_TARGET_END KW_PRAGMA(GCC pop_options)
#endif
