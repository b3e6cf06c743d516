// sum_j exp(-|x - y|^2) B_je for E right-hand sides, D = 3: a block of kernel values stays in the first cache and is
// multiplied by the block of B in register tiles, IV vectors of rows by C right-hand sides.
#include "pairs.hpp"

template <class T_>
struct Multi {
  using T = T_;
  static constexpr int D = 3, IV = 2, C = wide ? 10 : 5, B = IV * W<T>, JB = 256 / (sizeof(T) / 4), G = 8;
  static constexpr bool split = true;
  const Data& d;
  const long M, N, E;
  std::vector<double>& out;
  long tiles() const { return (E + C - 1) / C; }
  size_t xs() const { return D * B; }
  size_t ys() const { return (D + tiles() * C) * JB; }
  size_t as() const { return tiles() * C * B; }
  void packx(long i0, long rows, T* x) const {
    pack_scaled(&d.x[i0], M, rows, D, std::sqrt(LOG2E), x, B);
    for (int k = 0; k < D; k++)
      for (long r = rows; r < B; r++) x[k * B + r] = x[k * B];
  }
  void packy(long j0, long n, T* y) const {  // coordinates, then B as [tile][column][right-hand side]
    pack_scaled(&d.y[j0], N, n, D, std::sqrt(LOG2E), y, JB);
    for (long e = 0; e < tiles() * C; e++)
      for (long j = 0; j < n; j++) y[D * JB + (e / C * JB + j) * C + e % C] = e < E ? T(d.b[j0 + j + N * e]) : T(0);
  }
  void init(double* acc) const { std::fill(acc, acc + as(), 0.0); }
  void run(const T* x, long, const T* y, long, long n, double* acc) const {
    alignas(64) T kb[JB * B];  // 16 KiB (AVX2), 32 KiB (AVX-512)
    P<T, IV> xk[D];
    for (int k = 0; k < D; k++) xk[k] = load<IV>(x + k * B);
    for (long j = 0; j < n; j++) {
      P<T, IV> q = {};
#pragma GCC unroll 4
      for (int k = 0; k < D; k++) {
        auto t = xk[k] - y[k * JB + j];
        q = q - t * t;
      }
      q = exp2v(q);
      for (int v = 0; v < IV; v++) *(VT<T>*)(kb + j * B + v * W<T>) = q.v[v];
    }
    for (long t = 0; t < tiles(); t++) {
      const T* b = y + (D + t * C) * JB;
      P<T, IV> a[C] = {};
#pragma GCC unroll 1
      for (long j = 0; j < n; j++) {
        auto k = load<IV>(kb + j * B);
#pragma GCC unroll 16
        for (int c = 0; c < C; c++) a[c] = a[c] + k * b[j * C + c];
      }
#pragma GCC unroll 16
      for (int c = 0; c < C; c++) flush(acc + (t * C + c) * B, a[c]);
    }
  }
  void finish(long i0, long rows, const double* acc) const {
    for (long e = 0; e < E; e++) std::copy(acc + e * B, acc + e * B + rows, &out[i0 + M * e]);
  }
};

template <class T>
static int run_multi(const Args& a) {
  Data d(a, a.E);
  std::vector<double> out(a.M * a.E);
  Multi<T> k{d, a.M, a.N, a.E, out};
  return report(
      a, [&] { drive(k, a.M, a.N, a.threads); },
      [&] {
        return check_rows(out, a.M, a.E, [&](long i, long double* s) {
          std::vector<double> w(a.N);
          for (long j = 0; j < a.N; j++) {
            double q = 0;
            for (long k = 0; k < 3; k++) {
              const double e = d.x[i + a.M * k] - d.y[j + a.N * k];
              q += e * e;
            }
            w[j] = std::exp(-q);
          }
          for (long e = 0; e < a.E; e++) {
            s[e] = 0;
            for (long j = 0; j < a.N; j++) s[e] += w[j] * d.b[j + a.N * e];
          }
        });
      });
}
int multi_case(const Args& a) {
  if (a.name != "multi" || a.D != 3) return -1;
  return a.f32 ? run_multi<float>(a) : run_multi<double>(a);
}
