// argkmin: for each row the K columns nearest in |x - y|^2, in order, K known at run time.
#include "bench.hpp"

// A tile of IV vectors of rows by C columns is compared with each row's threshold by its minimum alone; the branch that
// looks closer is rare. There a candidate is only appended to the row's buffer; a full buffer keeps its K smallest and
// lowers the threshold. A first pass over the first column block gives a good threshold at once: the K-th smallest of
// the minima of NG groups of columns bounds the K-th smallest distance.
// Differences for few dimensions; from D = 10 on |y|^2 - 2<x,y> of centred coordinates (|x|^2 does not change the
// order). DC: the number of dimensions where the loop over them is to be unrolled, else 0.
template <class T_, int IV, int C, bool Gemm, int DC>
struct Knn {
  using T = T_;
  static constexpr int B = IV * W<T>, G = 4;
  static constexpr bool split = false;
  const Data& d;
  const long M, N, D, K;
  std::vector<double>& centre;
  std::vector<int>& out;
  const long JB = D > 16 ? 960 : 3840;  // a multiple of every C; also the size of the first pass
  size_t xs() const { return D * B; }
  size_t ys() const { return (D + 1) * JB; }
  struct Near {
    double q, j;
  };
  long cap() const { return 2 * K + 12; }
  size_t as() const { return (2 * cap() + 2) * B; }  // per row a buffer of candidates; then sizes and thresholds
  void packx(long i0, long rows, T* x) const {
    for (long k = 0; k < D; k++)
      for (long r = 0; r < B; r++) x[k * B + r] = T(d.x[i0 + std::min(r, rows - 1) + M * k] - centre[k]);
  }
  void packy(long j0, long n, T* y) const {  // tiles of C columns: [dimension][column], then |y|^2
    for (long j = 0; j < (n + C - 1) / C * C; j++) {
      T* t = y + j / C * C * (D + 1) + j % C;
      double s = 0;
      for (long k = 0; k < D; k++) {
        const T v = j < n ? T(d.y[j0 + j + N * k] - centre[k]) : T(Gemm ? 0 : 1e15);
        t[k * C] = Gemm ? -2 * v : v, s += (double)v * v;
      }
      t[D * C] = j < n ? T(s) : T(1e30);  // padding is never near
    }
  }
  void init(double* acc) const {
    double* size = acc + 2 * cap() * B;
    std::fill(size, size + B, 0.0), std::fill(size + B, size + 2 * B, INFINITY);
  }
  void tile(const T* x, const T* y, P<T, IV>* a) const {
#pragma GCC unroll 16
    for (int c = 0; c < C; c++) a[c] = Gemm ? set<IV>(y[this->D * C + c]) : P<T, IV>{};
    const long D = DC ? DC : this->D;
#pragma GCC unroll 4
    for (long k = 0; k < D; k++) {
      auto xk = load<IV>(x + k * B);
#pragma GCC unroll 16
      for (int c = 0; c < C; c++) {
        if constexpr (Gemm) a[c] = a[c] + xk * y[k * C + c];
        else {
          auto e = xk - y[k * C + c];
          a[c] = a[c] + e * e;
        }
      }
    }
  }
  static void put(T* p, const P<T, IV>& a) {
    for (int v = 0; v < IV; v++) *(VT<T>*)(p + v * W<T>) = a.v[v];
  }
  void bound(const T* x, const T* y, long n, double* thr) const {
    const long NG = (3 * K + C - 1) / C * C;
    Buffer<T> g(NG * B);
    std::fill(g + 0, g + NG * B, T(INFINITY));
    long k = 0;
    for (long j = 0; j < n; j += C, k = k + C < NG ? k + C : 0) {
      P<T, IV> a[C];
      tile(x, y + j * (D + 1), a);
#pragma GCC unroll 16
      for (int c = 0; c < C; c++) put(g + (k + c) * B, vmin(load<IV>(g + (k + c) * B), a[c]));
    }
    for (long s = 0; s < K; s++)  // K rounds of bubbling the smallest down
      for (long m = NG - 1; m > s; m--) {
        auto u = load<IV>(g + m * B), w = load<IV>(g + (m - 1) * B);
        put(g + (m - 1) * B, vmin(u, w)), put(g + m * B, vmax(u, w));
      }
    for (int l = 0; l < B; l++)
      thr[l] = std::nextafter(g[(K - 1) * B + l], T(INFINITY));  // a column at the bound counts
  }
  // Appends the columns of a tile that are near to rows of vector v: dist holds the C vectors of distances, near a bit
  // for each of their lanes. Says whether a threshold changed.
  static constexpr int words = (C * W<T> + 63) / 64;
  __attribute__((noinline)) bool append(const T* dist, const uint64_t* near, int v, long j, double* acc) const {
    double *size = acc + 2 * cap() * B + v * W<T>, *thr = size + B;
    bool changed = false;
    for (int k = 0; k < words; k++)
      for (uint64_t m = near[k]; m; m &= m - 1) {
        const int at = 64 * k + __builtin_ctzll(m), w = at % W<T>;
        Near* list = (Near*)acc + cap() * (v * W<T> + w);
        long n = size[w];
        list[n++] = {dist[at], (double)(j + at / W<T>)};
        if (__builtin_expect(n == cap(), 0)) {
          std::nth_element(list, list + K - 1, list + n, before);
          n = K, thr[w] = list[K - 1].q, changed = true;
        }
        size[w] = n;
      }
    return changed;
  }
  static bool before(const Near& a, const Near& b) { return a.q < b.q || (a.q == b.q && a.j < b.j); }
  void run(const T* x, long, const T* y, long j0, long n, double* acc) const {
    double* thr = acc + (2 * cap() + 1) * B;
    if (j0 == 0) bound(x, y, n, thr);
    alignas(64) T th[B], dist[C * W<T>];
    for (int l = 0; l < B; l++) th[l] = thr[l];
    for (long j = 0; j < n; j += C) {
      P<T, IV> a[C];
      tile(x, y + j * (D + 1), a);
      auto m = a[0];
#pragma GCC unroll 16
      for (int c = 1; c < C; c++) m = vmin(m, a[c]);
#pragma GCC unroll 4
      for (int v = 0; v < IV; v++)
        if (__builtin_expect(raw::less(m.v[v], load(th + v * W<T>)), 0)) {
          uint64_t near[words] = {};
#pragma GCC unroll 16
          for (int c = 0; c < C; c++) {  // constant subscripts: a stays in registers
            *(VT<T>*)(dist + c * W<T>) = a[c].v[v];
            near[c * W<T> / 64] |= (uint64_t)raw::less(a[c].v[v], load(th + v * W<T>)) << c * W<T> % 64;
          }
          if (append(dist, near, v, j0 + j, acc))
            for (int w = 0; w < W<T>; w++) th[v * W<T> + w] = thr[v * W<T> + w];
        }
    }
  }
  void finish(long i0, long rows, double* acc) const {
    for (long r = 0; r < rows; r++) {
      Near* list = (Near*)acc + cap() * r;
      std::partial_sort(list, list + K, list + (long)acc[2 * cap() * B + r], before);
      for (long k = 0; k < K; k++) out[i0 + r + M * k] = list[k].j;
    }
  }
};

// The error: by how much the k-th column named is farther (or nearer) than the k-th nearest, over the largest distance
// that counts; a column named twice is a failure. Zero means equal indices; ties to rounding count by their rounding.
static double check_knn(const Args& a, const Data& d, const std::vector<int>& out) {
  double worst = 0, top = 0;
  for (int c = 0; c < 40; c++) {
    const long i = c * (a.M - 1) / 39;
    std::vector<double> q(a.N), s;
    for (long k = 0; k < a.D; k++)
      for (long j = 0; j < a.N; j++) {
        const double e = d.x[i + a.M * k] - d.y[j + a.N * k];
        q[j] += e * e;
      }
    s = q;
    std::partial_sort(s.begin(), s.begin() + a.E, s.end());
    std::vector<int> seen;
    for (long k = 0; k < a.E; k++) {
      const int j = out[i + a.M * k];
      if (j < 0 || j >= a.N || std::count(seen.begin(), seen.end(), j)) return INFINITY;
      seen.push_back(j);
      worst = std::max(worst, std::fabs(q[j] - s[k])), top = std::max(top, s[k]);
    }
  }
  return worst / top;
}
template <class T, int IV, int C, bool Gemm, int DC>
static int run_knn(const Args& a) {
  Data d(a);
  std::vector<double> centre(a.D);
  std::vector<int> out(a.M * a.E);
  Knn<T, IV, C, Gemm, DC> k{d, a.M, a.N, a.D, a.E, centre, out};
  auto once = [&] {
    for (long c = 0; c < a.D && Gemm; c++) {
      double s = 0;
      for (long j = 0; j < a.N; j++) s += d.y[j + a.N * c];
      centre[c] = s / a.N;
    }
    drive(k, a.M, a.N, a.threads);
  };
  return report(a, once, [&] { return check_knn(a, d, out); });
}
template <class T>
static int pick(const Args& a) {
  if (a.D == 3) return run_knn < T, 2, wide ? 8 : 4, false, 3 > (a);
  if (a.D < 10) return run_knn < T, 2, wide ? 8 : 4, false, 0 > (a);
  return run_knn < T, wide ? 4 : 2, wide ? 6 : 4, true, 0 > (a);
}
int knn_case(const Args& a) {
  if (a.name != "argkmin" || a.E > a.N) return -1;
  return a.f32 ? pick<float>(a) : pick<double>(a);
}
