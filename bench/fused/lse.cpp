// log sum_j exp(-|x - y|^2), D = 3, with a running maximum per row (in base 2): any sign of the exponent would do.
#include "pairs.hpp"

// A tile of R vectors of rows by C columns holds t = -m - |x - y|^2. Only where a t exceeds SLACK is m raised and the
// sums scaled down, so the maximum costs one operation a pair, and the branch is rare after the first columns.
template <class T_>
struct Lse {
  using T = T_;
  static constexpr int D = 3, IV = wide ? 4 : 1, C = 4, B = IV * W<T>, JB = 256, G = 8;
  static constexpr bool split = false;
  static constexpr T SLACK = 8;
  const Data& d;
  const long M, N;
  std::vector<double>& out;
  size_t xs() const { return D * B; }
  size_t ys() const { return D * JB; }
  size_t as() const { return 2 * B; }  // m, then the sum
  void packx(long i0, long rows, T* x) const {
    pack_scaled(&d.x[i0], M, rows, D, std::sqrt(LOG2E), x, B);
    for (int k = 0; k < D; k++)
      for (long r = rows; r < B; r++) x[k * B + r] = x[k * B];
  }
  void packy(long j0, long n, T* y) const {
    pack_scaled(&d.y[j0], N, n, D, std::sqrt(LOG2E), y, JB);
    for (int k = 0; k < D; k++)
      for (long j = n; j < (n + C - 1) / C * C; j++) y[k * JB + j] = T(1e15);  // adds nothing
  }
  void init(double* acc) const { std::fill(acc, acc + B, -1e30), std::fill(acc + B, acc + 2 * B, 0.0); }
  static void tile(const T* x, const T* y, const P<T, IV>& negm, P<T, IV>* t) {
#pragma GCC unroll 4
    for (int c = 0; c < C; c++) t[c] = negm;
#pragma GCC unroll 4
    for (int k = 0; k < D; k++) {
      auto xk = load<IV>(x + k * B);
#pragma GCC unroll 4
      for (int c = 0; c < C; c++) {
        auto e = xk - y[k * JB + c];
        t[c] = t[c] - e * e;
      }
    }
  }
  static P<T, IV> top(const P<T, IV>* t) { return vmax(vmax(t[0], t[1]), vmax(t[2], t[3])); }
  __attribute__((noinline)) static void raise(const T* x, const T* y, T* negm, T* part, double* acc) {
    alignas(64) T best[B];
    P<T, IV> t[C];
    tile(x, y, {}, t);
    store(best, top(t));
    for (int l = 0; l < B; l++) {
      const double m = std::max<double>(-negm[l], best[l]), f = std::exp2(-negm[l] - m);
      part[l] *= f, acc[B + l] *= f, negm[l] = -m;
    }
  }
  static void store(T* p, const P<T, IV>& a) {
    for (int v = 0; v < IV; v++) *(VT<T>*)(p + v * W<T>) = a.v[v];
  }
  void run(const T* x, long, const T* y, long, long n, double* acc) const {
    alignas(64) T m[B], p[B];
    for (int l = 0; l < B; l++) m[l] = -acc[l];
    auto negm = load<IV>(m);
    P<T, IV> sum = {}, t[C];
    const VT<T> slack = SLACK - VT<T>{};
    for (long j = 0; j < n; j += C) {
      tile(x, y + j, negm, t);
      auto h = top(t);
      VT<T> hi = h.v[0];
#pragma GCC unroll 4
      for (int v = 1; v < IV; v++) hi = raw::max(hi, h.v[v]);
      if (__builtin_expect(raw::less(slack, hi), 0)) {
        store(m, negm), store(p, sum);
        raise(x, y + j, m, p, acc);
        negm = load<IV>(m), sum = load<IV>(p);
        tile(x, y + j, negm, t);
      }
#pragma GCC unroll 4
      for (int c = 0; c < C; c++) sum = sum + exp2v(t[c]);
    }
    flush(acc + B, sum);
    store(m, negm);
    for (int l = 0; l < B; l++) acc[l] = -m[l];
  }
  void finish(long i0, long rows, const double* acc) const {
    for (long r = 0; r < rows; r++) out[i0 + r] = (acc[r] + std::log2(acc[B + r])) * LN2;
  }
};

template <class T>
static int run_lse(const Args& a) {
  Data d(a);
  std::vector<double> out(a.M);
  Lse<T> k{d, a.M, a.N, out};
  return report(
      a, [&] { drive(k, a.M, a.N, a.threads); },
      [&] {
        return check_rows(out, a.M, 1, [&](long i, long double* s) {
          s[0] = 0;
          for (long j = 0; j < a.N; j++) {
            double q = 0;
            for (long k = 0; k < 3; k++) {
              const double e = d.x[i + a.M * k] - d.y[j + a.N * k];
              q += e * e;
            }
            s[0] += std::exp(-q);
          }
          s[0] = std::log(s[0]);
        });
      });
}
int lse_case(const Args& a) {
  if (a.name != "lse" || a.D != 3) return -1;
  return a.f32 ? run_lse<float>(a) : run_lse<double>(a);
}
