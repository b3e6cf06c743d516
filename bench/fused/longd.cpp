// D = 784: sum_j exp(-|x - y|_1 / D) b_j and sum_j exp(-(sum_k |x - y|_k^p)^(1/p)) b_j, p known at run time only.
#include "bench.hpp"

// |x - y|_1 = 2 sum max(x, y) - sum x - sum y: two operations a dimension instead of three (subtract, clear the sign,
// add). The coordinates are scaled by log2(e) / D, so t = sum x + sum y - 2 sum max is the exponent.
template <class T_>
struct Manhattan {
  using T = T_;
  using Q = T;
  static constexpr int IV = wide ? 4 : 2, C = wide ? 6 : 4, DB = 112;
  double D;
  double scale() const { return LOG2E / D; }
  template <int R>
  static P<T, R> add(const P<T, R>& s, const P<T, R>& x, T y) {
    return s + vmax(x, y);
  }
  template <int R>
  P<T, R> k(const P<T, R>& s, const P<T, R>& sx, T sy) const {
    return exp2v((sx + sy) - s * T(2));
  }
};
// |t|^p = 2^(p log2 |t|). The root and the exponential happen once per 784 powers, so they may cost more: the exponent,
// about 32 here, multiplies every rounding of the root. Hence double also for float, and exponents split into an
// integer and a small rest (the error in double falls from 1.9e-14 to 1e-14).
template <class T_>
struct Minkowski {
  using T = T_;
  using Q = double;
  static constexpr int IV = wide ? 4 : 2, C = 1, DB = 28;
  double p;
  double scale() const { return 1; }
  template <int R>
  P<T, R> add(const P<T, R>& s, const P<T, R>& x, T y) const {
    return s + exp2v(log2v(x - y) * T(p));
  }
  // 2^(a (h + l) + b), where h + l is a number to more than double precision
  template <int R>
  static P<Q, R> power(const P<Q, R>& a, double h, double l, const P<Q, R>& b) {
    auto n = a * h + Vec<Q>::magic - Vec<Q>::magic;
    return exp2v((a * h - n) + (a * l + b)) * exp2v(n);
  }
  template <int R>
  P<Q, R> k(const P<Q, R>& s, const P<Q, R>&, Q) const {
    const double h = 1 / p, l = std::fma(-p, h, 1.0) / p;
    auto g = log2parts(vmax(s, 1e-300));  // also of equal points
    return power(power(g.e, h, l, g.f * h), -LOG2E, -2.0355273740931033e-17, P<Q, R>{});
  }
};

// Dimensions in blocks of DB: a slice of x and y stays in the first cache, and partial sums over at most DB terms go to
// an outer sum per pair (type Q), which the kernel reads when all dimensions are done.
template <class F>
struct LongD {
  using T = typename F::T;
  using Q = typename F::Q;
  static constexpr int IV = F::IV, C = F::C, B = IV * W<T>, JB = 48, DB = F::DB, G = 4;
  static constexpr bool split = true;
  const F& f;
  const Data& d;
  const long M, N, D;
  std::vector<double>& out;
  size_t xs() const { return (D + 1) * B; }
  size_t ys() const { return (D + 2) * JB; }
  size_t as() const { return B; }
  void packx(long i0, long rows, T* x) const {
    double s[B] = {};
    for (long k = 0; k < D; k++)
      for (long r = 0; r < B; r++) {
        const T v = T(d.x[i0 + std::min(r, rows - 1) + M * k] * f.scale());
        x[k * B + r] = v, s[r] += v;
      }
    for (long r = 0; r < B; r++) x[D * B + r] = T(s[r]);
  }
  void packy(long j0, long n, T* y) const {  // [tile][dimension][column], then sum y and b of the block
    for (long j = 0; j < JB; j++) {
      T* t = y + j / C * C * D + j % C;
      const long from = j0 + std::min(j, n - 1);
      double s = 0;
      for (long k = 0; k < D; k++) {
        const T v = T(d.y[from + N * k] * f.scale());
        t[k * C] = v, s += v;
      }
      y[D * JB + j] = T(s), y[(D + 1) * JB + j] = j < n ? T(d.b[from]) : T(0);
    }
  }
  void init(double* acc) const { std::fill(acc, acc + B, 0.0); }
  void run(const T* x, long, const T* y, long, long n, double* acc) const {
    alignas(64) Q q[JB * B] = {};
    for (long d0 = 0; d0 < D; d0 += DB)
      for (long j = 0; j < n; j += C) {
        const T *yt = y + j * D, *const end = yt + std::min(D, d0 + DB) * C, *xk = x + d0 * B;
        P<T, IV> a[C] = {};
#pragma GCC unroll 1
        for (yt += d0 * C; yt < end; yt += C, xk += B) {
          auto xv = load<IV>(xk);
#pragma GCC unroll 16
          for (int c = 0; c < C; c++) a[c] = f.add(a[c], xv, yt[c]);
        }
#pragma GCC unroll 16
        for (int c = 0; c < C; c++) outer(q + (j + c) * B, a[c]);
      }
    constexpr int R = std::min(IV, 4), WQ = W<Q>;  // the kernel of the pair, on vectors of Q
    for (int v = 0; v < B; v += R * WQ) {
      P<Q, R> sum = {}, sx = {};
      if constexpr (sizeof(Q) == sizeof(T)) sx = load<R>(x + D * B + v);
      for (long j = 0; j < n; j++)
        sum = sum + f.k(load<R>(q + j * B + v), sx, (Q)y[D * JB + j]) * (Q)y[(D + 1) * JB + j];
      flush(acc + v, sum);
    }
  }
  static void outer(Q* q, const P<T, IV>& a) {
    if constexpr (sizeof(Q) == sizeof(T))
      for (int v = 0; v < IV; v++) *(VT<T>*)(q + v * W<T>) += a.v[v];
    else flush(q, a);
  }
  void finish(long i0, long rows, const double* acc) const { std::copy(acc, acc + rows, &out[i0]); }
};

template <class F, class R>
static int run_long(const Args& a, const F& f, R kernel, int nrows) {
  Data d(a);
  std::vector<double> out(a.M);
  LongD<F> k{f, d, a.M, a.N, a.D, out};
  return report(
      a, [&] { drive(k, a.M, a.N, a.threads); },
      [&] {
        std::vector<double> x(a.D), y(a.D * a.N);  // points contiguous: the check is long enough
        for (long c = 0; c < a.D; c++)
          for (long j = 0; j < a.N; j++) y[j * a.D + c] = d.y[j + a.N * c];
        return check_rows(
            out, a.M, 1,
            [&](long i, long double* s) {
              for (long c = 0; c < a.D; c++) x[c] = d.x[i + a.M * c];
              s[0] = 0;
              for (long j = 0; j < a.N; j++) s[0] += kernel(x.data(), &y[j * a.D]) * d.b[j];
            },
            nrows);
      });
}
template <class T>
static int pick(const Args& a) {
  static volatile double power = 1.5;  // known only at run time
  const double p = power;
  const long D = a.D;
  if (a.name == "manhattan")
    return run_long(
        a, Manhattan<T>{(double)D},
        [=](const double* x, const double* y) {
          double s = 0;
          for (long k = 0; k < D; k++) s += std::fabs(x[k] - y[k]);
          return std::exp(-s / D);
        },
        40);
  if (a.name == "minkowski")
    return run_long(
        a, Minkowski<T>{p},
        [=](const double* x, const double* y) {
          long double s = 0;  // a plain sum is off by 6e-16, the kernel by 32 times that
          for (long k = 0; k < D; k++) s += std::pow(std::fabs(x[k] - y[k]), p);
          return (double)std::exp(-std::pow(s, 1 / (long double)p));
        },
        20);  // pow is slow: 20 rows
  return -1;
}
int longd_case(const Args& a) { return a.f32 ? pick<float>(a) : pick<double>(a); }
