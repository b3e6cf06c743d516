// sum_j exp(-|x - y|^2) b_j for many dimensions: register tiles of IV vectors of rows by C columns.
#include "bench.hpp"

// Gemm: t = 2<x,y> - |x|^2 - |y|^2 of centred coordinates in base 2, one FMA a dimension; else differences, two
// operations. What the norms lose by rounding comes back as factors of b and of the sums: at D = 100 float would else
// miss the bound.
template <class T_, int IV, int C, bool Gemm>
struct Tile {
  using T = T_;
  static constexpr int B = IV * W<T>, JB = 240 / C * C, G = 8;
  static constexpr long DB = is_float<T> ? 64 : 1 << 30;  // float: partial sums over blocks of dimensions too
  static constexpr bool split = true;
  const Data& d;
  const long M, N, D;
  std::vector<double>&out, &centre;
  size_t xs() const { return (D + 2) * B; }  // coordinates, |x|^2, factor
  size_t ys() const { return (D + 2) * JB; }
  size_t as() const { return B; }
  void packx(long i0, long rows, T* x) const {
    double s[B] = {};
    for (long k = 0; k < D; k++)
      for (long r = 0; r < B; r++) {
        const T v = T((d.x[i0 + std::min(r, rows - 1) + M * k] - centre[k]) * std::sqrt(LOG2E));
        x[k * B + r] = v, s[r] += (double)v * v;
      }
    for (long r = 0; r < B; r++) x[D * B + r] = T(s[r]), x[(D + 1) * B + r] = lost(T(s[r]), s[r]);
  }
  static T lost(T rounded, double norm) { return Gemm ? T(std::exp2(rounded - norm)) : T(1); }
  // Tiles of C columns: [dimension][column], then |y|^2, then b; Gemm: coordinates doubled, as the product needs them
  void packy(long j0, long n, T* y) const {
    for (long t = 0; t * C < n; t++, y += (D + 2) * C)
      for (long c = 0; c < C; c++) {
        const long j = j0 + std::min(t * C + c, n - 1);
        double s = 0;
        for (long k = 0; k < D; k++) {
          const T v = T((d.y[j + N * k] - centre[k]) * std::sqrt(LOG2E));
          y[k * C + c] = Gemm ? 2 * v : v, s += (double)v * v;
        }
        y[D * C + c] = T(s), y[(D + 1) * C + c] = t * C + c < n ? T(d.b[j] * lost(T(s), s)) : T(0);
      }
  }
  void init(double* acc) const { std::fill(acc, acc + B, 0.0); }
  // The norms enter last for many dimensions (products of centred coordinates stay small, so does their rounding), and
  // for few start the sums, which saves an addition.
  template <bool Late>
  void body(const T* x, const T* y, long n, double* acc) const {
    P<T, IV> sum = {};
    const long D = this->D;
    for (long t = 0; t * C < n; t++, y += (D + 2) * C) {
      P<T, IV> a[C], outer[C];
#pragma GCC unroll 16
      for (int c = 0; c < C; c++) a[c] = Gemm && !Late ? -set<IV>(y[D * C + c]) : P<T, IV>{};
      for (long k = 0, k1 = D < DB ? D : DB;; k1 = std::min(D, k1 + DB)) {
#pragma GCC unroll 1
        for (; k < k1; k++) {
          auto xk = load<IV>(x + k * B);
#pragma GCC unroll 16
          for (int c = 0; c < C; c++) {
            if constexpr (Gemm) a[c] = a[c] + xk * y[k * C + c];
            else {
              auto e = xk - y[k * C + c];
              a[c] = a[c] - e * e;
            }
          }
        }
        if (!Late || D <= DB) break;
#pragma GCC unroll 16
        for (int c = 0; c < C; c++) {
          outer[c] = k1 <= DB ? a[c] : outer[c] + a[c];
          a[c] = k1 < D ? P<T, IV>{} : outer[c];
        }
        if (k1 == D) break;
      }
      auto x2 = load<IV>(x + D * B);
#pragma GCC unroll 16
      for (int c = 0; c < C; c++) {
        auto q = !Gemm ? a[c] : Late ? (a[c] - y[D * C + c]) - x2 : a[c] - x2;
        sum = sum + exp2v(q) * y[(D + 1) * C + c];
      }
    }
    flush(acc, sum * load<IV>(x + (D + 1) * B));
  }
  void run(const T* x, long, const T* y, long, long n, double* acc) const {
    D > 16 ? body<true>(x, y, n, acc) : body<false>(x, y, n, acc);
  }
  void finish(long i0, long rows, const double* acc) const { std::copy(acc, acc + rows, &out[i0]); }
};

template <class T, int IV, int C, bool Gemm>
static int run_tile(const Args& a) {
  Data d(a);
  std::vector<double> out(a.M), centre(a.D);
  Tile<T, IV, C, Gemm> k{d, a.M, a.N, a.D, out, centre};
  auto once = [&] {
    for (long c = 0; c < a.D; c++) {
      double s = 0;
      for (long j = 0; j < a.N; j++) s += d.y[j + a.N * c];
      centre[c] = s / a.N;
    }
    drive(k, a.M, a.N, a.threads);
  };
  return report(a, once, [&] {
    return check_rows(out, a.M, 1, [&](long i, long double* s) {
      s[0] = 0;
      for (long j = 0; j < a.N; j++) {
        double q = 0;
        for (long k = 0; k < a.D; k++) {
          const double e = d.x[i + a.M * k] - d.y[j + a.N * k];
          q += e * e;
        }
        s[0] += std::exp(-q) * d.b[j];
      }
    });
  });
}
// Measured (differences against products, register tiles of 8 to 24 sums): products win for both types and instruction
// sets, by 1.05 (D = 10, f64 AVX2) to 1.8 (D = 100 AVX-512), at no larger error; 2 x 6 and 4 x 6 are the best tiles or
// near.
int tile_case(const Args& a) {
  if (a.name != "gauss" || a.D == 3) return -1;
  return a.f32 ? run_tile < float, wide ? 4 : 2, 6, true > (a) : run_tile < double, wide ? 4 : 2, 6, true > (a);
}
