// The scalar lane: one number, and the primitives that a row of ops.def may call. Knows no operation.
// Read by g++, clang, nvcc and NVRTC; includes no standard header under NVRTC, which has its own mathematics.
#pragma once

#ifdef __CUDACC__
#define KW_FN __host__ __device__ inline
#elif defined(__GNUC__)
#define KW_FN inline __attribute__((always_inline))
#else
#define KW_FN inline
#endif

// The instruction set a translation unit is compiled for. Everything made of lanes lives in a namespace of
// that name, so that no code for one machine is ever linked into another.
#ifndef KW_ISA
#define KW_ISA portable
#endif

#ifndef __CUDACC_RTC__
#include <math.h>
#endif

namespace kernweave {
inline namespace KW_ISA {

// 1-based row numbers; 0 means "none". Wide enough for any product of two extents.
using Index = long long;

namespace primitive {
KW_FN float exp(float x) { return ::expf(x); }
KW_FN double exp(double x) { return ::exp(x); }
KW_FN double exp2(double x) { return ::exp2(x); }
KW_FN float log(float x) { return ::logf(x); }
KW_FN double log(double x) { return ::log(x); }
KW_FN double sqrt(double x) { return ::sqrt(x); }
KW_FN double inverse_sqrt(double x) { return 1 / ::sqrt(x); }
KW_FN double divide(double x, double y) { return x / y; }
KW_FN float sin(float x) { return ::sinf(x); }
KW_FN double sin(double x) { return ::sin(x); }
KW_FN float cos(float x) { return ::cosf(x); }
KW_FN double cos(double x) { return ::cos(x); }
KW_FN float tanh(float x) { return ::tanhf(x); }
KW_FN double tanh(double x) { return ::tanh(x); }
KW_FN float abs(float x) { return ::fabsf(x); }
KW_FN double abs(double x) { return ::fabs(x); }
KW_FN float pow(float x, float y) { return ::powf(x, y); }
KW_FN double pow(double x, double y) { return ::pow(x, y); }
#ifdef __CUDA_ARCH__
// A device computes float functions in its own way, by hardware estimates of at most 2 units in the last place. It
// takes numbers below 1.2e-38 for 0, and divisors beyond 8.5e37 for infinite.
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
#else
KW_FN double infinity() { return HUGE_VAL; }
KW_FN float exp2(float x) { return ::exp2f(x); }
KW_FN float sqrt(float x) { return ::sqrtf(x); }
KW_FN float inverse_sqrt(float x) { return 1 / ::sqrtf(x); }
KW_FN float divide(float x, float y) { return x / y; }
template <class T>
KW_FN T lesser(T x, T y) {
  return x < y ? x : y;
}
template <class T>
KW_FN T greater(T x, T y) {
  return y < x ? x : y;
}
#endif
}  // namespace primitive

// Returns infinity, for use in rows of ops.def.
KW_FN double positive_infinity() { return primitive::infinity(); }

// The scalar lane. Literals in rows are doubles; the converting constructor narrows them at compile time, so a float
// kernel holds no double arithmetic. I is the type of row numbers, large enough for all of them.
template <class T, class I = Index>
struct Scalar {
  using Number = T;
  using Mask = bool;
  using Indices = I;
  using Place = I;   // row number of one lane, in a state
  using Places = I;  // row numbers of all lanes
  static constexpr int kLanes = 1;
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
  KW_FN friend Scalar operator/(Scalar a, Scalar b) { return of(primitive::divide(a.v, b.v)); }
  KW_FN friend Scalar operator-(Scalar a) { return of(-a.v); }

  KW_FN friend Mask operator<(Scalar a, Scalar b) { return a.v < b.v; }
  KW_FN friend Mask operator<=(Scalar a, Scalar b) { return a.v <= b.v; }
  KW_FN friend Mask operator==(Scalar a, Scalar b) { return a.v == b.v; }
  // A comparison with NaN is false, "different" included.
  KW_FN friend Mask differs(Scalar a, Scalar b) { return a.v < b.v || a.v > b.v; }

  KW_FN friend Scalar exp(Scalar a) { return of(primitive::exp(a.v)); }
  KW_FN friend Scalar exp2(Scalar a) { return of(primitive::exp2(a.v)); }
  // Returns 2^-a for a >= 0: vectors then have one bound less to test.
  KW_FN friend Scalar exp2_minus(Scalar a) { return of(primitive::exp2(-a.v)); }
  KW_FN friend Scalar log(Scalar a) { return of(primitive::log(a.v)); }
  KW_FN friend Scalar sqrt(Scalar a) { return of(primitive::sqrt(a.v)); }
  // Returns 0 at 0, so that a norm has derivative 0 if its argument is 0. inverse_sqrt() stays Inf there.
  KW_FN friend Scalar rsqrt(Scalar a) { return of(a.v == T(0) ? T(0) : primitive::inverse_sqrt(a.v)); }
  KW_FN friend Scalar inverse_sqrt(Scalar a) { return of(primitive::inverse_sqrt(a.v)); }
  KW_FN friend Scalar square(Scalar a) { return of(a.v * a.v); }
  KW_FN friend Scalar sin(Scalar a) { return of(primitive::sin(a.v)); }
  KW_FN friend Scalar cos(Scalar a) { return of(primitive::cos(a.v)); }
  KW_FN friend Scalar tanh(Scalar a) { return of(primitive::tanh(a.v)); }
  KW_FN friend Scalar abs(Scalar a) { return of(primitive::abs(a.v)); }
  KW_FN friend Scalar pow(Scalar a, Scalar b) { return of(primitive::pow(a.v, b.v)); }

  KW_FN friend Mask truth(Scalar a) { return a.v != T(0); }
  KW_FN friend Mask is_nan(Scalar a) { return a.v != a.v; }
  KW_FN friend Scalar select(Mask test, Scalar yes, Scalar no) { return of(test ? yes.v : no.v); }
  // Returns the smaller number; either of the two if one is NaN.
  KW_FN friend Scalar lesser(Scalar a, Scalar b) { return of(primitive::lesser(a.v, b.v)); }
  KW_FN friend Scalar greater(Scalar a, Scalar b) { return of(primitive::greater(a.v, b.v)); }

  // Access to single lanes, so that code for wide lanes serves this one.
  KW_FN friend T lane(Scalar a, int) { return a.v; }
  KW_FN friend Scalar with_lane(Scalar, int, T number) { return of(number); }
  KW_FN friend void set_lane(Scalar* a, int, T number) { a->v = number; }
};
KW_FN bool lane(bool mask, int) { return mask; }
KW_FN bool any(bool mask) { return mask; }
// Calls f with every lane in which the mask is true.
template <class F>
KW_FN void each_lane(bool mask, F f) {
  if (mask) f(0);
}
KW_FN Index lane(Index index, int) { return index; }
KW_FN int lane(int index, int) { return index; }
KW_FN void set_lane(Index* index, int, Index number) { *index = number; }
KW_FN void set_lane(int* index, int, int number) { *index = number; }

// Returns the value of a slot: a number as it is, a truth value as 1 or 0.
template <class L>
KW_FN constexpr L number(L value) {
  return value;
}
template <class L>
KW_FN constexpr L number(typename L::Mask value) {
  return select(value, L(1.0), L(0.0));
}

template <class L>
KW_FN L infinity() {
  return L(primitive::infinity());
}
template <class L>
KW_FN L nan() {
  return infinity<L>() - infinity<L>();
}

// A number that the compiler knows, and calls of f with each number from kLast down to 0: a loop that must be unrolled
// wholly, since its body keeps arrays in registers.
template <int kValue>
struct Constant {
  KW_FN constexpr operator int() const { return kValue; }
};
template <int kLast, class F>
KW_FN void downward(F f) {
  if constexpr (kLast >= 0) {
    f(Constant<kLast>());
    downward<kLast - 1>(f);
  }
}

// Returns one lane of a value, as a value of another kind of lane.
template <class L, class M>
KW_FN L from_lane(M value, int k) {
  return L::of(static_cast<typename L::Number>(lane(value, k)));
}

}  // inline namespace KW_ISA
}  // namespace kernweave
