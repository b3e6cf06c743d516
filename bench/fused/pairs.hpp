// The plain fused loop: rows in the lanes (IV vectors of them), columns broadcast, a formula F per pair.
// F: NX row features and NY column features (the last one b), NA sums, add(sums, x, y) for R vectors of rows.
// Features are hoisted terms: what depends on i or j alone is computed when packing.
#pragma once
#include "bench.hpp"

template <class F>
struct Pairs {
  using T = typename F::T;
  static constexpr int IV = F::IV, B = IV * W<T>, JB = 256, G = 8;
  static constexpr bool split = true;
  const F& f;
  const Data& d;
  const long M, N;
  std::vector<double>& out;
  Pairs(const F& f, const Data& d, const Args& a, std::vector<double>& out) : f(f), d(d), M(a.M), N(a.N), out(out) {}
  size_t xs() const { return F::NX * B; }
  size_t ys() const { return F::NY * JB; }
  size_t as() const { return F::NA * B; }
  static long lanes(long rows) { return (rows + W<T> - 1) / W<T> * W<T>; }  // the last block uses the vectors it needs
  void packx(long i0, long rows, T* x) const {
    const long S = lanes(rows);
    f.packx(&d.x[i0], M, rows, x, S);
    for (int k = 0; k < F::NX; k++)
      for (long r = rows; r < S; r++) x[k * S + r] = x[k * S + rows - 1];
  }
  void packy(long j0, long n, T* y) const {
    f.packy(&d.y[j0], N, n, y, JB);
    for (long j = 0; j < n; j++) y[(F::NY - 1) * JB + j] = d.b[j0 + j];
  }
  void init(double* acc) const { std::fill(acc, acc + as(), 0.0); }
  template <int RV>
  static void body(const F& f, const T* x, const T* y, long n, double* acc) {
    P<T, RV> s[F::NA] = {};
#pragma GCC unroll 1
    for (long j = 0; j < n; j++) f.template add<RV, JB>(s, x, y + j);
    for (int o = 0; o < F::NA; o++) flush(acc + o * B, s[o]);
  }
  template <int RV>
  void pick(long rv, const T* x, const T* y, long n, double* acc) const {
    if (rv == RV) return body<RV>(f, x, y, n, acc);
    if constexpr (RV > 1) pick<RV - 1>(rv, x, y, n, acc);
  }
  void run(const T* x, long rows, const T* y, long, long n, double* acc) const {
    pick<IV>(lanes(rows) / W<T>, x, y, n, acc);
  }
  void finish(long i0, long rows, const double* acc) const {
    for (int o = 0; o < F::NA; o++)
      for (long r = 0; r < rows; r++) out[i0 + r + M * o] = f.result(i0 + r, acc[o * B + r], d);
  }
};

// Coordinates times a scale, straight from the columns.
template <class T>
inline void pack_scaled(const double* p, long ld, long n, int D, double scale, T* out, long S) {
  for (int k = 0; k < D; k++)
    for (long r = 0; r < n; r++) out[k * S + r] = T(p[k * ld + r] * scale);
}
// Features by a scalar function of one point: feat(point, features).
template <int D, int NF, class T, class H>
inline void pack_features(const double* p, long ld, long n, T* out, long S, H feat) {
  for (long r = 0; r < n; r++) {
    double c[D], f[NF];
    for (int k = 0; k < D; k++) c[k] = p[k * ld + r];
    feat(c, f);
    for (int k = 0; k < NF; k++) out[k * S + r] = T(f[k]);
  }
}

template <class F, class R>
int run_pairs(const Args& a, const F& f, R ref) {
  Data d(a);
  std::vector<double> out(a.M * F::NA);
  Pairs<F> k(f, d, a, out);
  return report(
      a, [&] { drive(k, a.M, a.N, a.threads); },
      [&] {
        std::vector<double> x(a.D), y(a.D);
        return check_rows(out, a.M, F::NA, [&](long i, long double* s) {
          std::fill(s, s + F::NA, 0.0L);
          for (long k = 0; k < a.D; k++) x[k] = d.x[i + a.M * k];
          for (long j = 0; j < a.N; j++) {
            for (long k = 0; k < a.D; k++) y[k] = d.y[j + a.N * k];
            ref(x.data(), y.data(), d.b[j], d.e[i], s);
          }
        });
      });
}
