// D = 3: Gaussian and other radial sums, and the gradient of the Gaussian sum. Differences, never |x|^2 + |y|^2 - 2xy.
#include "pairs.hpp"

// A profile Q gives k(q) from q = |x - y|^2 of scaled coordinates, or from -q where neg (2^-q then needs no sign
// change).
template <class Q>
struct Radial {
  using T = typename Q::T;
  static constexpr int D = 3, NX = D, NY = D + 1, NA = 1, IV = Q::IV;
  void packx(const double* p, long ld, long n, T* x, long S) const { pack_scaled(p, ld, n, D, Q::scale(), x, S); }
  void packy(const double* p, long ld, long n, T* y, long S) const { pack_scaled(p, ld, n, D, Q::scale(), y, S); }
  template <int R, int JS>
  void add(P<T, R>* s, const T* x, const T* y) const {
    P<T, R> q = {};
#pragma GCC unroll 4
    for (int k = 0; k < D; k++) {
      auto t = load<R>(x + k * R * W<T>) - y[k * JS];
      if constexpr (Q::neg) q = q - t * t;
      else q = k ? q + t * t : t * t;
    }
    s[0] = s[0] + Q::k(q) * y[D * JS];
  }
  double result(long, double s, const Data&) const { return s; }
};

template <class T_>
struct Gauss {
  using T = T_;
  static constexpr bool neg = true;
  static constexpr int IV = is_float<T> ? 4 : 6;
  static double scale() { return std::sqrt(LOG2E); }
  template <int R>
  static P<T, R> k(const P<T, R>& t) {
    return exp2v(t);
  }
  static double ref(double q) { return std::exp(-q); }
};
template <class T_>
struct Laplace {
  using T = T_;
  static constexpr bool neg = false;
  static constexpr int IV = is_float<T> ? 4 : 6;
  static double scale() { return LOG2E; }
  template <int R>
  static P<T, R> k(const P<T, R>& q) {
    return exp2v(-vsqrt(q));
  }
  static double ref(double q) { return std::exp(-std::sqrt(q)); }
};
template <class T_>
struct Cauchy {
  using T = T_;
  static constexpr bool neg = false;
  static constexpr int IV = 4;
  static double scale() { return 1; }
  template <int R>
  static P<T, R> k(const P<T, R>& q) {
    return rcp(q + T(1));
  }
  static double ref(double q) { return 1 / (1 + q); }
};
template <class T_>
struct Imq {
  using T = T_;
  static constexpr bool neg = false;
  static constexpr int IV = 4;
  static double scale() { return 1; }
  template <int R>
  static P<T, R> k(const P<T, R>& q) {
    return rsqrt(q + T(1));
  }
  static double ref(double q) { return 1 / std::sqrt(1 + q); }
};
template <class T_>
struct Matern32 {  // z = sqrt 3 r log2 e is the scaled distance
  using T = T_;
  static constexpr bool neg = false;
  static constexpr int IV = is_float<T> ? 4 : 6;
  static double scale() { return LOG2E * std::sqrt(3.0); }
  template <int R>
  static P<T, R> k(const P<T, R>& q) {
    auto z = vsqrt(q);
    return (z * T(LN2) + T(1)) * exp2v(-z);
  }
  static double ref(double q) {
    double z = std::sqrt(3 * q);
    return (1 + z) * std::exp(-z);
  }
};
template <class T_>
struct Matern52 {
  using T = T_;
  static constexpr bool neg = false;
  static constexpr int IV = is_float<T> ? 4 : 6;
  static double scale() { return LOG2E * std::sqrt(5.0); }
  template <int R>
  static P<T, R> k(const P<T, R>& q) {
    auto z = vsqrt(q);
    return (q * T(LN2 * LN2 / 3) + (z * T(LN2) + T(1))) * exp2v(-z);
  }
  static double ref(double q) {
    double z = std::sqrt(5 * q);
    return (1 + z + z * z / 3) * std::exp(-z);
  }
};

template <class T_>
struct GradX {
  using T = T_;
  static constexpr int D = 3, NX = D, NY = D + 1, NA = D, IV = wide ? 4 : 2;
  static double scale() { return std::sqrt(LOG2E); }
  void packx(const double* p, long ld, long n, T* x, long S) const { pack_scaled(p, ld, n, D, scale(), x, S); }
  void packy(const double* p, long ld, long n, T* y, long S) const { pack_scaled(p, ld, n, D, scale(), y, S); }
  template <int R, int JS>
  void add(P<T, R>* s, const T* x, const T* y) const {
    P<T, R> t[D], q = {};
#pragma GCC unroll 4
    for (int k = 0; k < D; k++) t[k] = load<R>(x + k * R * W<T>) - y[k * JS], q = q - t[k] * t[k];
    auto w = exp2v(q) * y[D * JS];
#pragma GCC unroll 4
    for (int k = 0; k < D; k++) s[k] = s[k] + w * t[k];
  }
  double result(long i, double s, const Data& d) const { return -2 / scale() * d.e[i] * s; }
};

template <class Q>
static int radial(const Args& a) {
  return run_pairs(a, Radial<Q>{}, [](const double* x, const double* y, double b, double, long double* s) {
    double q = 0;
    for (int k = 0; k < 3; k++) q += (x[k] - y[k]) * (x[k] - y[k]);
    s[0] += Q::ref(q) * b;
  });
}
template <class T>
static int pick(const Args& a) {
  if (a.D != 3) return -1;
  if (a.name == "gauss" || a.name == "thin") return radial<Gauss<T>>(a);
  if (a.name == "laplace") return radial<Laplace<T>>(a);
  if (a.name == "cauchy") return radial<Cauchy<T>>(a);
  if (a.name == "imq") return radial<Imq<T>>(a);
  if (a.name == "matern32") return radial<Matern32<T>>(a);
  if (a.name == "matern52") return radial<Matern52<T>>(a);
  if (a.name == "gradx")
    return run_pairs(a, GradX<T>{}, [](const double* x, const double* y, double b, double e, long double* s) {
      double q = 0;
      for (int k = 0; k < 3; k++) q += (x[k] - y[k]) * (x[k] - y[k]);
      for (int k = 0; k < 3; k++) s[k] += e * std::exp(-q) * b * -2 * (x[k] - y[k]);
    });
  return -1;
}
int pairs_case(const Args& a) { return a.f32 ? pick<float>(a) : pick<double>(a); }
