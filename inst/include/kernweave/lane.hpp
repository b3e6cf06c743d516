// The scalar lane: one number, and the primitives that a row of ops.def may call. Knows no operation.
// Read by g++, clang, nvcc and NVRTC; includes no standard header under NVRTC, which has its own mathematics.
#pragma once

#ifdef __CUDACC__
#define KW_FN __host__ __device__ inline
#else
#define KW_FN inline
#endif

#ifndef __CUDACC_RTC__
#include <math.h>
#endif

namespace kernweave {

// 1-based row numbers; 0 means "none". Wide enough for any product of two extents.
using Index = long long;

namespace primitive {
KW_FN float exp(float x) { return ::expf(x); }
KW_FN double exp(double x) { return ::exp(x); }
KW_FN float log(float x) { return ::logf(x); }
KW_FN double log(double x) { return ::log(x); }
KW_FN float sqrt(float x) { return ::sqrtf(x); }
KW_FN double sqrt(double x) { return ::sqrt(x); }
}  // namespace primitive

// Literals in rows are doubles; the converting constructor narrows them at compile time, so a float
// kernel holds no double arithmetic.
template <class T>
struct Scalar {
  using Number = T;
  using Mask = bool;
  using Indices = Index;
  T v;

  Scalar() = default;
  KW_FN Scalar(double literal) : v(static_cast<T>(literal)) {}
  KW_FN static Scalar of(T value) {
    Scalar s;
    s.v = value;
    return s;
  }

  KW_FN friend Scalar operator+(Scalar a, Scalar b) { return of(a.v + b.v); }
  KW_FN friend Scalar operator-(Scalar a, Scalar b) { return of(a.v - b.v); }
  KW_FN friend Scalar operator*(Scalar a, Scalar b) { return of(a.v * b.v); }
  KW_FN friend Scalar operator/(Scalar a, Scalar b) { return of(a.v / b.v); }
  KW_FN friend Scalar operator-(Scalar a) { return of(-a.v); }

  KW_FN friend Mask operator<(Scalar a, Scalar b) { return a.v < b.v; }
  KW_FN friend Mask operator<=(Scalar a, Scalar b) { return a.v <= b.v; }
  KW_FN friend Mask operator==(Scalar a, Scalar b) { return a.v == b.v; }
  // A comparison with NaN is false, "different" included.
  KW_FN friend Mask differs(Scalar a, Scalar b) { return a.v < b.v || a.v > b.v; }

  KW_FN friend Scalar exp(Scalar a) { return of(primitive::exp(a.v)); }
  KW_FN friend Scalar log(Scalar a) { return of(primitive::log(a.v)); }
  KW_FN friend Scalar sqrt(Scalar a) { return of(primitive::sqrt(a.v)); }
  // 0 at 0, so that a norm has derivative 0 where its argument vanishes. 1 / sqrt(x) stays Inf there.
  KW_FN friend Scalar rsqrt(Scalar a) {
    return of(a.v == T(0) ? T(0) : T(1) / primitive::sqrt(a.v));
  }
  KW_FN friend Scalar square(Scalar a) { return of(a.v * a.v); }

  KW_FN friend Mask truth(Scalar a) { return a.v != T(0); }
  KW_FN friend Mask is_nan(Scalar a) { return a.v != a.v; }
  KW_FN friend Scalar select(Mask test, Scalar yes, Scalar no) { return test ? yes : no; }
};

// Indices are chosen as numbers are.
KW_FN Index select(bool test, Index yes, Index no) { return test ? yes : no; }

// What a slot holds: a number as it is, a truth value as 1 or 0.
template <class L>
KW_FN L number(L value) {
  return value;
}
template <class L>
KW_FN L number(typename L::Mask value) {
  return select(value, L(1.0), L(0.0));
}

template <class L>
KW_FN L infinity() {
  return L(1.0) / L(0.0);
}

}  // namespace kernweave
