// The pair of macros around code for one instruction set, after the headers that must not be compiled for one only.
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
