// The common parts of yardsticks: arguments, random data, the blocked driver over rows and columns, timing, the check.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>
#include "vec.hpp"

struct Args {
  std::string name;
  bool f32;
  long M, N, D, E;  // E: right-hand sides, or K of argkmin
  int threads, reps;
};

// Column-major doubles, as R holds them: x is M x D, y is N x D, b is N x E.
struct Data {
  std::vector<double> x, y, b, e;
  explicit Data(const Args& a, long nb = 1) {
    std::mt19937_64 g(1);
    std::uniform_real_distribution<double> u;
    std::normal_distribution<double> z;
    x.resize(a.M * a.D), y.resize(a.N * a.D), b.resize(a.N * nb), e.resize(a.M);
    for (auto& v : x) v = u(g);
    for (auto& v : y) v = u(g);
    for (auto& v : b) v = z(g);
    for (auto& v : e) v = z(g);
  }
};

template <class T>
struct Buffer {  // 64-byte aligned, with a cache line to spare
  std::unique_ptr<void, void (*)(void*)> p{nullptr, std::free};
  explicit Buffer(size_t n) { p.reset(std::aligned_alloc(64, (n * sizeof(T) + 191) / 64 * 64)); }
  operator T*() const { return (T*)p.get(); }
};

// Tasks 0..n-1, handed out one by one; each thread calls make() for a worker with buffers of its own.
template <class F>
void parallel(int threads, long n, F make) {
  std::atomic<long> next{0};
  auto work = [&] {
    auto f = make();
    for (long t; (t = next++) < n;) f(t);
  };
  std::vector<std::thread> pool;
  for (int k = 1; k < threads && k < n; k++) pool.emplace_back(work);
  work();
  for (auto& t : pool) t.join();
}

// Add a vector of partial sums to outer sums in double (float32 keeps its accuracy by this).
template <class T, int R>
inline void flush(double* out, const P<T, R>& s) {
  typedef T Part __attribute__((vector_size(W<double> * sizeof(T)), may_alias));  // as many as a vector of doubles
  alignas(64) T t[R * W<T>];
  for (int v = 0; v < R; v++) *(VT<T>*)(t + v * W<T>) = s.v[v];
  for (int l = 0; l < R * W<T>; l += W<double>) *(VD*)(out + l) += __builtin_convertvector(*(const Part*)(t + l), VD);
}

// A kernel K works on blocks of K::B rows against blocks of K::JB columns:
//   xs(), ys(), as()         sizes of a packed row block, a packed column block, and its sums (double)
//   packx(i0, rows, x), packy(j0, n, y), init(acc), run(x, rows, y, j0, n, acc), finish(i0, rows, acc)
// Many rows: a task is a group of row blocks (a column block stays in cache for the whole group), columns are packed
// once. Few rows (when K::split): a task is a range of columns, packs them itself, and sums are added at the end.
template <class K>
void drive(const K& k, long M, long N, int threads) {
  using T = typename K::T;
  const long B = K::B, JB = k.JB, nb = (M + B - 1) / B, njb = (N + JB - 1) / JB;
  const size_t xs = (k.xs() + 15) & ~15, ys = (k.ys() + 15) & ~15, as = (k.as() + 7) & ~7;
  const bool few = K::split && nb < 4 * threads;
  const long G = few ? nb : std::max(1L, std::min<long>(K::G, nb / (4 * threads)));
  const long groups = (nb + G - 1) / G, parts = few ? std::min<long>(njb, 4 * threads) : 1;
  auto rows = [&](long ib) { return std::min(B, M - ib * B); };
  auto cols = [&](long jb) { return std::min(JB, N - jb * JB); };
  Buffer<T> yall(few ? 0 : njb * ys);
  Buffer<double> sums(few ? parts * nb * as : 0);
  if (!few)
    parallel(njb * ys > 100000 ? threads : 1, njb,
             [&] { return [&](long jb) { k.packy(jb * JB, cols(jb), yall + jb * ys); }; });
  parallel(threads, groups * parts, [&] {
    return [&, xb = Buffer<T>(G * xs), yb = Buffer<T>(few ? ys : 0), ab = Buffer<double>(few ? 0 : G * as)](long task) {
      const long g = task / parts, part = task % parts, i0 = g * G, i1 = std::min(nb, i0 + G);
      double* acc = few ? sums + part * nb * as : ab;
      for (long i = i0; i < i1; i++) k.packx(i * B, rows(i), xb + (i - i0) * xs), k.init(acc + (i - i0) * as);
      for (long jb = njb * part / parts; jb < njb * (part + 1) / parts; jb++) {
        const T* y = few ? yb : yall + jb * ys;
        if (few) k.packy(jb * JB, cols(jb), yb);
        for (long i = i0; i < i1; i++) k.run(xb + (i - i0) * xs, rows(i), y, jb * JB, cols(jb), acc + (i - i0) * as);
      }
      if (!few)
        for (long i = i0; i < i1; i++) k.finish(i * B, rows(i), acc + (i - i0) * as);
    };
  });
  if (few)
    for (long i = 0; i < nb; i++) {
      for (long p = 1; p < parts; p++)
        for (size_t l = 0; l < as; l++) sums[i * as + l] += sums[(p * nb + i) * as + l];
      k.finish(i * B, rows(i), sums + i * as);
    }
}

// One warm-up and reps runs; prints the line. Returns the exit status.
template <class F, class C>
int report(const Args& a, F run, C check) {
  run();
  std::vector<double> t;
  for (int r = 0; r < a.reps; r++) {
    auto t0 = std::chrono::steady_clock::now();
    run();
    t.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t0).count());
  }
  std::sort(t.begin(), t.end());
  const double med = t[t.size() / 2], err = check(), bound = a.f32 ? 3e-6 : 2e-14;
  printf("%s %s %d %ld %ld %ld %ld %d %.3f %.3f %.1f %.2e\n", a.name.c_str(), a.f32 ? "f32" : "f64", BYTES, a.M, a.N,
         a.D, a.E, a.threads, med, t[0], (double)a.M * a.N / med / 1e3, err);
  return err <= bound ? 0 : 1;  // a NaN fails
}

// Largest error of about nrows rows of out (M x nout) over the largest |reference|; ref(i, s) fills nout plain sums.
template <class R>
double check_rows(const std::vector<double>& out, long M, int nout, R ref, int nrows = 40) {
  double worst = 0, top = 0;
  std::vector<long double> s(nout);  // plain double terms, sums that add no error of their own at N = 1e6
  for (int c = 0; c < nrows; c++) {
    const long i = nrows == 1 ? 0 : c * (M - 1) / (nrows - 1);
    ref(i, s.data());
    for (int o = 0; o < nout; o++) {
      const double e = (double)std::fabs(out[i + M * o] - s[o]);
      if (!(e <= worst)) worst = e;
      top = std::max(top, (double)std::fabs(s[o]));
    }
  }
  return worst / top;
}

int pairs_case(const Args&);  // each returns an exit status, or -1 if the case is not its own
int chain_case(const Args&);
int lse_case(const Args&);
int tile_case(const Args&);
int longd_case(const Args&);
int multi_case(const Args&);
int knn_case(const Args&);
