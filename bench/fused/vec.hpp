// Vectors of BYTES bytes (32: AVX2 + FMA, 64: AVX-512) and the elementary functions the yardsticks need.
// GCC vector extensions carry the arithmetic (a*b+c contracts to FMA); intrinsics appear only where the
// language has no operator (sqrt, estimates, AVX-512 exponent and table instructions) or g++ a poor one (min, max).
#pragma once
#include <immintrin.h>
#include <cstdint>
#include <utility>

template <class T>
struct Vec;
template <>
struct Vec<float> {
  typedef float V __attribute__((vector_size(BYTES), may_alias));
  typedef int32_t I __attribute__((vector_size(BYTES), may_alias));
  static constexpr float magic = 12582912.f;  // 1.5 * 2^23: adding it rounds to an integer
  static constexpr int mant = 23;
};
template <>
struct Vec<double> {
  typedef double V __attribute__((vector_size(BYTES), may_alias));
  typedef int64_t I __attribute__((vector_size(BYTES), may_alias));
  typedef uint64_t U __attribute__((vector_size(BYTES), may_alias));  // AVX2 has no arithmetic shift of 64 bits
  static constexpr double magic = 6755399441055744.0;                 // 1.5 * 2^52
  static constexpr int mant = 52;
};
template <class T>
using VT = typename Vec<T>::V;
template <class T>
using IT = typename Vec<T>::I;
template <class T>
constexpr int W = BYTES / sizeof(T);
constexpr bool wide = BYTES == 64;  // 32 registers rather than 16
template <class T>
constexpr bool is_float = sizeof(T) == 4;

typedef Vec<float>::V VF;
typedef Vec<double>::V VD;
inline VF load(const float* p) { return *(const VF*)p; }
inline VD load(const double* p) { return *(const VD*)p; }

// One vector: what has no operator. `a < b ? a : b` with a constant operand becomes a compare and a blend.
namespace raw {
#if BYTES == 64
inline VF min(VF a, VF b) { return _mm512_min_ps(a, b); }
inline VD min(VD a, VD b) { return _mm512_min_pd(a, b); }
inline VF max(VF a, VF b) { return _mm512_max_ps(a, b); }
inline VD max(VD a, VD b) { return _mm512_max_pd(a, b); }
inline unsigned less(VF a, VF b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }  // a bit per lane
inline unsigned less(VD a, VD b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
inline VF rcp(VF a) { return _mm512_rcp14_ps(a); }  // relative error 2^-14
inline VD rcp(VD a) { return _mm512_rcp14_pd(a); }
inline VF rsqrt(VF a) { return _mm512_rsqrt14_ps(a); }
inline VD rsqrt(VD a) { return _mm512_rsqrt14_pd(a); }
inline VF sqrt(VF a) { return _mm512_sqrt_ps(a); }
inline VD sqrt(VD a) { return _mm512_sqrt_pd(a); }
inline VF frac(VF t) { return _mm512_reduce_ps(t, 0x09); }    // t - floor(t)
inline VD frac16(VD t) { return _mm512_reduce_pd(t, 0x49); }  // t - floor(16 t) / 16
inline VD add_down(VD a, VD b) { return _mm512_add_round_pd(a, b, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
inline VF scale(VF p, VF t) { return _mm512_scalef_ps(p, t); }  // p * 2^floor(t)
inline VD scale(VD p, VD t) { return _mm512_scalef_pd(p, t); }
inline VF mant(VF v) { return _mm512_getmant_ps(v, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero); }  // of |v|, in [1, 2)
inline VD mant(VD v) { return _mm512_getmant_pd(v, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero); }
inline VF expo(VF v) { return _mm512_getexp_ps(v); }
inline VD expo(VD v) { return _mm512_getexp_pd(v); }
// Entry k (low 4 bits) of a 16-entry table.
inline VF table(const float* t, Vec<float>::I k) { return _mm512_permutexvar_ps((__m512i)k, load(t)); }
inline VD table(const double* t, Vec<double>::I k) { return _mm512_permutex2var_pd(load(t), (__m512i)k, load(t + 8)); }
#else
inline VF min(VF a, VF b) { return _mm256_min_ps(a, b); }
inline VD min(VD a, VD b) { return _mm256_min_pd(a, b); }
inline VF max(VF a, VF b) { return _mm256_max_ps(a, b); }
inline VD max(VD a, VD b) { return _mm256_max_pd(a, b); }
inline unsigned less(VF a, VF b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_LT_OQ)); }
inline unsigned less(VD a, VD b) { return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_LT_OQ)); }
inline VF rcp(VF a) { return _mm256_rcp_ps(a); }  // relative error 1.5 * 2^-12
inline VF rsqrt(VF a) { return _mm256_rsqrt_ps(a); }
inline VF sqrt(VF a) { return _mm256_sqrt_ps(a); }
inline VD sqrt(VD a) { return _mm256_sqrt_pd(a); }
inline VD rsqrt(VD a) { return _mm256_cvtps_pd(_mm_rsqrt_ps(_mm256_cvtpd_ps(a))); }  // a in the range of float
inline VF tofloat(Vec<float>::I k) { return _mm256_cvtepi32_ps((__m256i)k); }
#endif
}  // namespace raw

// R vectors that go through a formula in step. One after the other they are 1.1 to 1.25 times slower (measured on
// Sapphire Rapids), probably since the scheduler cannot look far enough ahead to overlap four chains of dependent
// operations.
template <class T, int R>
struct P {
  VT<T> v[R];
};
template <int I, class F, class... A>
inline auto lane(F f, const A&... a) {
  return f(a.v[I]...);
}
template <class T, int R, class F, class... A, size_t... I>
inline P<T, R> map_(std::index_sequence<I...>, F f, const P<T, R>& a, const A&... b) {
  return {{lane<I>(f, a, b...)...}};
}
template <class T, int R, class F, class... A>
inline P<T, R> map(F f, const P<T, R>& a, const A&... b) {
  return map_(std::make_index_sequence<R>{}, f, a, b...);
}
template <class T>
struct same {
  using type = T;
};  // numbers in formulas take the vector's type
template <class T>
using num = typename same<T>::type;
#define TR \
  template <class T, int R> \
  inline P<T, R>
TR operator+(const P<T, R>& a, const P<T, R>& b) {
  return map([](auto x, auto y) { return x + y; }, a, b);
}
TR operator-(const P<T, R>& a, const P<T, R>& b) {
  return map([](auto x, auto y) { return x - y; }, a, b);
}
TR operator*(const P<T, R>& a, const P<T, R>& b) {
  return map([](auto x, auto y) { return x * y; }, a, b);
}
TR operator/(const P<T, R>& a, const P<T, R>& b) {
  return map([](auto x, auto y) { return x / y; }, a, b);
}
TR operator+(const P<T, R>& a, num<T> s) {
  return map([s](auto x) { return x + s; }, a);
}
TR operator-(const P<T, R>& a, num<T> s) {
  return map([s](auto x) { return x - s; }, a);
}
TR operator*(const P<T, R>& a, num<T> s) {
  return map([s](auto x) { return x * s; }, a);
}
TR operator-(num<T> s, const P<T, R>& a) {
  return map([s](auto x) { return s - x; }, a);
}
TR operator-(const P<T, R>& a) {
  return map([](auto x) { return -x; }, a);
}
TR vmin(const P<T, R>& a, num<T> s) {
  return map([s](auto x) { return raw::min(x, s - VT<T>{}); }, a);
}
TR vmax(const P<T, R>& a, num<T> s) {
  return map([s](auto x) { return raw::max(x, s - VT<T>{}); }, a);
}
TR vmin(const P<T, R>& a, const P<T, R>& b) {
  return map([](auto x, auto y) { return raw::min(x, y); }, a, b);
}
TR vmax(const P<T, R>& a, const P<T, R>& b) {
  return map([](auto x, auto y) { return raw::max(x, y); }, a, b);
}
TR vabs(const P<T, R>& a) {
  return map([](auto x) { return (VT<T>)((IT<T>)x & ~(IT<T>)(T(-0.0) - VT<T>{})); }, a);
}
#undef TR
template <int R, class T>
inline P<T, R> set(T s) {
  P<T, R> z = {};
  return s - z;
}
template <int R, class T, size_t... I>
inline P<T, R> load_(const T* p, std::index_sequence<I...>) {
  return {{load(p + I * W<T>)...}};
}
template <int R, class T>
inline P<T, R> load(const T* p) {
  return load_<R>(p, std::make_index_sequence<R>{});
}

// c[0] + c[1] s + ... (Horner: with several vectors in step, fewest operations win)
template <class T, int R, int N, size_t... K>
inline P<T, R> poly_(const P<T, R>& s, const T (&c)[N], std::index_sequence<K...>) {
  P<T, R> p = s * c[N - 1] + c[N - 2];
  ((p = p * s + c[N - 3 - K]), ...);
  return p;
}
template <class T, int R, int N>
inline P<T, R> poly(const P<T, R>& s, const T (&c)[N]) {
  return poly_(s, c, std::make_index_sequence<N - 2>{});
}

constexpr double LOG2E = 1.4426950408889634, LN2 = 0.69314718055994531;

// ---- 2^t, within 1.8 ulp. AVX-512 takes any t. AVX2 gives 2^-125 (2^-1021) for all that is smaller, and needs t < 127
// (1023).
#if BYTES == 64
template <int R>
inline P<float, R> exp2v(const P<float, R>& t) {
  constexpr float c[] = {0.9999999251f, 0.6931530732f, 0.2401536171f, 0.05582631785f, 0.008989340316f, 0.00187757659f};
  auto s = map([](auto x) { return raw::frac(x); }, t);
  return map([](auto p, auto x) { return raw::scale(p, x); }, poly(s, c), t);
}
alignas(64) constexpr double pow16[] = {  // 2^(k/16)
    1.0,
    1.0442737824274138403,
    1.0905077326652576592,
    1.1387886347566916537,
    1.1892071150027210667,
    1.2418578120734840486,
    1.2968395546510096659,
    1.3542555469368927283,
    1.4142135623730950488,
    1.4768261459394993114,
    1.5422108254079408236,
    1.6104903319492543082,
    1.6817928305074290861,
    1.7562521603732994831,
    1.8340080864093424635,
    1.9152065613971472939};
template <int R>
inline P<double, R> exp2v(const P<double, R>& t) {
  // t = floor(t) + k/16 + s, 0 <= s < 1/16: degree 6 and a table instead of degree 11
  constexpr double c[] = {1.0,
                          0.69314718055993437957,
                          0.24022650696190853865,
                          0.055504108394629532792,
                          0.0096181414760740078824,
                          0.0013330655303820016149,
                          0.00015740592897934419132};
  auto s = map([](auto x) { return raw::frac16(x); }, t);
  auto k =
      map([](auto x) { return raw::add_down(x, 422212465065984.0 - VD{}); }, t);  // 1.5 * 2^48: the low 4 bits are k
  auto tab = map([](auto x) { return raw::table(pow16, (Vec<double>::I)x); }, k);
  return map([](auto p, auto x) { return raw::scale(p, x); }, tab * poly(s, c), t);
}
#else
template <class T, int R, int N>
inline P<T, R> exp2_(const P<T, R>& x, T low, const T (&c)[N]) {
  auto t = vmax(x, low), u = t + Vec<T>::magic, s = t - (u - Vec<T>::magic);
  return map([](auto p, auto k) { return (VT<T>)((IT<T>)p + ((IT<T>)k << Vec<T>::mant)); }, poly(s, c), u);
}
template <int R>
inline P<float, R> exp2v(const P<float, R>& t) {
  constexpr float c[] = {1.000000072f, 0.6931469671f, 0.2402211972f, 0.05550713276f, 0.009675541343f, 0.001327647139f};
  return exp2_(t, -125.f, c);
}
template <int R>
inline P<double, R> exp2v(const P<double, R>& t) {
  constexpr double c[] = {1.0,
                          0.69314718055994569676,
                          0.24022650695910098007,
                          0.055504108664790394419,
                          0.0096181291076070021329,
                          0.0013333558153439978489,
                          0.00015403530441572244888,
                          0.000015252727385184389671,
                          1.3215442675354665965e-6,
                          1.0180647663543391677e-7,
                          7.0725703980555190165e-9,
                          4.0780711367051241589e-10};
  return exp2_(t, -1021.0, c);
}
#endif

// ---- 1/a, a/b, 1/sqrt(a) (a > 0) and sqrt(a) (a >= 0), within 1 ulp (f32 AVX2: 2). Measured: estimates and Newton
// steps beat the divider but for 1/a of f64 x 4 and sqrt on AVX2.
template <class T, int R>
inline P<T, R> rcp(const P<T, R>& a) {
  if constexpr (!wide && !is_float<T>) return set<R>(T(1)) / a;
  else {
    auto y = map([](auto x) { return raw::rcp(x); }, a), e = T(1) - a * y;
    y = y + y * e;
    if constexpr (is_float<T>) return y;
    else return y + y * (e * e);  // (1 + e)(1 + e^2): error e^4 < 2^-56
  }
}
template <class T, int R>
inline P<T, R> quotient(const P<T, R>& a, const P<T, R>& b) {
  if constexpr (!wide && !is_float<T>) return a / b;
  else return a * rcp(b);
}
template <class T, int R>
inline P<T, R> rsqrt(const P<T, R>& a) {
  auto y = map([](auto x) { return raw::rsqrt(x); }, a), e = T(1) - (a * y) * y;
  if constexpr (is_float<T>) return y + (y * T(0.5)) * e;
  else if constexpr (wide)
    return y + (y * e) * (e * (e * T(0.3125) + T(0.375)) + T(0.5));  // error 35/128 e^4 < 2^-53.8
  else {
    y = y + (y * e) * (e * T(0.375) + T(0.5));
    e = T(1) - (a * y) * y;
    return y + (y * T(0.5)) * e;
  }
}
template <class T, int R>
inline P<T, R> vsqrt(const P<T, R>& b) {
  if constexpr (!wide) return map([](auto x) { return raw::sqrt(x); }, b);  // beside the arithmetic
  else {
    auto a = vmax(b, is_float<T> ? T(1e-37) : T(1e-300));  // the estimate of 0 is inf
    auto y = map([](auto x) { return raw::rsqrt(x); }, a), s = a * y;
    if constexpr (is_float<T>) return s + (y * T(0.5)) * (a - s * s);
    else {
      auto e = T(1) - s * y;
      return s + (s * e) * (e * (e * T(0.3125) + T(0.375)) + T(0.5));
    }
  }
}

// ---- log2 |v| = e + f, e an integer, |f| <= 1; of 0: -127 (-1023) or -inf. Error of the sum about 1 ulp of the
// result, 3 near v = 1+, absolute 1e-7 (2e-16) near 1-.
template <class T, int R>
struct Log2 {
  P<T, R> e, f;
};
#if BYTES == 64
// v = 2^e m, 1 <= m < 2; inv16[k] ~ 1/m by the top 4 bits of m; log2 v = e + log16[k] + log2(1 + r), r = m inv16[k] - 1
template <class T>
struct Log16;
template <>
struct Log16<float> {
  static constexpr int shift = 19;
  alignas(64) static constexpr float inv[] = {1.f,           0.9142857194f, 0.8648648858f, 0.8205128312f,
                                              0.7804877758f, 0.7441860437f, 0.7111111283f, 0.6808510423f,
                                              0.6530612111f, 0.6274510026f, 0.6037735939f, 0.5818181634f,
                                              0.561403513f,  0.5423728824f, 0.5245901346f, 0.5079365373f};
  alignas(64) static constexpr float log[] = {0.f,           0.1292830089f, 0.2094533307f, 0.2854022001f,
                                              0.3575520584f, 0.4262647601f, 0.4918530614f, 0.5545888974f,
                                              0.6147098737f, 0.6724252909f, 0.7279204331f, 0.7813597592f,
                                              0.8328900034f, 0.8826430467f, 0.9307374182f, 0.9772798402f};
  static constexpr float c[] = {1.442694993f, -0.7213624839f, 0.4811506234f, -0.3441493222f};
};
template <>
struct Log16<double> {
  static constexpr int shift = 48;
  alignas(64) static constexpr double inv[] = {1.0,
                                               0.91428571428571425717,
                                               0.86486486486486491287,
                                               0.82051282051282048435,
                                               0.78048780487804880757,
                                               0.74418604651162789665,
                                               0.71111111111111113825,
                                               0.68085106382978721751,
                                               0.65306122448979586625,
                                               0.62745098039215685404,
                                               0.60377358490566035432,
                                               0.58181818181818178992,
                                               0.5614035087719297934,
                                               0.54237288135593220151,
                                               0.52459016393442625681,
                                               0.50793650793650790831};
  alignas(64) static constexpr double log[] = {0.0,
                                               0.12928301694496650036,
                                               0.20945336562894970177,
                                               0.2854022188622483919,
                                               0.35755200461808364311,
                                               0.42626475470209795891,
                                               0.49185309632967465572,
                                               0.55458885167763740721,
                                               0.61470984411520833001,
                                               0.67242534197149560973,
                                               0.72792045456319923434,
                                               0.78135971352465967414,
                                               0.83289001416474175533,
                                               0.88264304936184126381,
                                               0.93073733756288620139,
                                               0.97727992349991655044};
  static constexpr double c[] = {1.4426950408889632782,   -0.72134752044460298826, 0.4808983469660904891,
                                 -0.36067375944834748009, 0.28853899079198491343,  -0.24045036235010119785,
                                 0.20613173781191598614,  -0.17994430003805077801, 0.14235926841528298735};
};
template <class T, int R>
inline Log2<T, R> log2parts(const P<T, R>& v) {
  typedef Log16<T> G;
  auto m = map([](auto x) { return raw::mant(x); }, v), e = map([](auto x) { return raw::expo(x); }, v);
  auto r = m * map([](auto x) { return raw::table(G::inv, (IT<T>)x >> G::shift); }, v) - T(1);
  return {e, map([](auto x) { return raw::table(G::log, (IT<T>)x >> G::shift); }, v) + r * poly(r, G::c)};
}
#else
// m in [sqrt 1/2, sqrt 2): add an offset before splitting off the exponent (as musl does)
template <int R>
inline Log2<float, R> log2parts(const P<float, R>& v) {
  constexpr float c[] = {1.442695004f,   -0.7213473468f, 0.4809106431f,  -0.3607036821f, 0.287916243f,
                         -0.2389448275f, 0.2157156566f,  -0.2072697432f, 0.1258369004f};
  auto b = map([](auto x) { return (VF)(((Vec<float>::I)x & 0x7fffffff) + (0x3f800000 - 0x3f3504f3)); }, v);
  auto e = map([](auto x) { return raw::tofloat((Vec<float>::I)x >> 23); }, b) - 127.f;
  auto f = map([](auto x) { return (VF)(((Vec<float>::I)x & 0x007fffff) + 0x3f3504f3); }, b) - 1.f;
  return {e, f * poly(f, c)};
}
template <int R>
inline Log2<double, R> log2parts(const P<double, R>& v) {
  typedef Vec<double>::I I;
  constexpr double c[] = {2.8853900817779268114,  0.9617966939259898297,  0.57707801634546465194,
                          0.41219858585237158892, 0.32059853378695534478, 0.26233440932603706606,
                          0.22091166399829235845, 0.2136728994710377242};
  auto b = map([](auto x) { return (VD)(((I)x & 0x7fffffffffffffff) + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd)); }, v);
  auto e = map([](auto x) { return (VD)((I)((Vec<double>::U)x >> 52) | 0x4330000000000000); }, b) -
           4503599627371519.0;  // 2^52 + 1023
  auto m = map([](auto x) { return (VD)(((I)x & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd); }, b);
  auto s = (m - 1.0) / (m + 1.0);  // the divider works beside the arithmetic
  return {e, s * poly(s * s, c)};
}
#endif
template <class T, int R>
inline P<T, R> log2v(const P<T, R>& v) {
  auto l = log2parts(v);
  return l.e + l.f;
}

// ---- cos, |t| up to about 1e3: even polynomial on [-pi/2, pi/2], sign by the parity of n; absolute error about 1 ulp
// of 1.
template <class T, int R>
inline P<T, R> cosv(const P<T, R>& t) {
  auto u = t * T(0.31830988618379067) + Vec<T>::magic, n = u - Vec<T>::magic;
  auto sign = [](auto p, auto k) { return (VT<T>)((IT<T>)p ^ ((IT<T>)k << (8 * sizeof(T) - 1))); };
  if constexpr (is_float<T>) {
    constexpr T c[] = {0.9999999998f,   -0.4999999936f,  0.04166663626f,
                       -0.00138883614f, 2.476016133e-5f, -2.605149462e-7f};
    auto r = (t - n * 3.14159274101257324f) + n * 8.74227765734758577e-8f;
    return map(sign, poly(r * r, c), u);
  } else {
    constexpr T c[] = {1.0,
                       -0.49999999999999982523,
                       0.041666666666664369226,
                       -0.0013888888888785650982,
                       0.000024801587279148809859,
                       -2.7557316525209138824e-7,
                       2.0876567740121568777e-9,
                       -1.1463039346583702613e-11,
                       4.6102939272299240171e-14};
    auto r = (t - n * 3.14159265358979311600) - n * 1.2246467991473532e-16;
    return map(sign, poly(r * r, c), u);
  }
}

// ---- tanh(x) = m / (m + 2), m = e^(2x) - 1 = 2^n s P(s) + (2^n - 1): no cancellation near 0; within 2.4 ulp.
// tanh2 takes t = 2 x log2 e, which a formula may have by scaling its data.
template <class T, int R, int N>
inline P<T, R> tanh_(const P<T, R>& x, T lim, const T (&c)[N]) {
  auto t = vmin(vmax(x, -lim), lim), u = t + Vec<T>::magic, s = t - (u - Vec<T>::magic);
  auto z = map([](auto k) { return (VT<T>)(((IT<T>)k << Vec<T>::mant) + (IT<T>)(T(1) - VT<T>{})); }, u);
  auto m = z * (s * poly(s, c)) + (z - T(1));
  return quotient(m, m + T(2));
}
template <int R>
inline P<float, R> tanh2(const P<float, R>& t) {
  constexpr float c[] = {0.6931471879f,   0.2402264979f,  0.05550357434f,
                         0.009618237502f, 0.00133907355f, 0.0001540351039f};
  return tanh_(t, 27.f, c);  // beyond, tanh is 1 to the last bit
}
template <int R>
inline P<double, R> tanh2(const P<double, R>& t) {
  constexpr double c[] = {0.6931471805599453112,      0.2402265069591009789,    0.055504108664821236547,
                          0.0096181291076070650152,   0.0013333558146531627593, 0.00015403530441481604483,
                          0.000015252733701219661849, 1.3215442723725544375e-6, 1.0178121297597295939e-7,
                          7.0725617942891936598e-9,   4.4455373579175498558e-10};
  return tanh_(t, 56.0, c);
}
