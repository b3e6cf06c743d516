// The elementwise chains, D = 5: evaluated as written, term by term, but for hoisting (what depends on i or j alone is
// computed when packing), scaling of data into base 2, and sums of two fractions under one division.
// Not used: angle addition, which would make cos(x - y) of chain1 and chain2 products of hoisted terms; algebraic
// simplification of chain5.
#include "pairs.hpp"

template <class T_, int NXF, int NYF, int IV_>
struct Chain {
  using T = T_;
  static constexpr int D = 5, NX = NXF, NY = NYF, NA = 1, IV = IV_;
  double result(long, double s, const Data&) const { return s; }
  template <int R>
  static P<T, R> X(const T* x, int k) {
    return load<R>(x + k * R * W<T>);
  }
};
#define EACH _Pragma("GCC unroll 8") for (int k = 0; k < 5; k++)

template <class T>
struct Chain1 : Chain<T, 10, 6, wide ? 4 : 2> {
  double p;
  void packx(const double* c, long ld, long n, T* x, long S) const {
    pack_features<5, 10>(c, ld, n, x, S,
                         [this](const double* c, double* f) { EACH f[k] = c[k], f[5 + k] = std::tanh(p * c[k]); });
  }
  void packy(const double* c, long ld, long n, T* y, long S) const { pack_scaled(c, ld, n, 5, 1, y, S); }
  template <int R, int JS>
  void add(P<T, R>* s, const T* x, const T* y) const {
    P<T, R> num = {}, den = set<R>(T(1));
    EACH {
      auto t = this->template X<R>(x, k) - y[k * JS];
      den = den + vabs(t);
      num = num + cosv(t) * this->template X<R>(x, 5 + k);
    }
    s[0] = s[0] + quotient(num * y[5 * JS], den);
  }
};
// chain2 and chain4 need <x,y> anyway, so |x - y|^2 = |x|^2 + |y|^2 - 2 <x,y> costs 2 operations instead of 10: 1.05
// to 1.2 times as fast as differences, at an error still within the bounds (float 7e-7). Coordinates times log2 e: z =
// log2(e) sqrt(1 + |x - y|^2) is the root of a sum with log2(e)^2, half of it in each norm.
template <class T>
struct Chain2 : Chain<T, 7, 8, wide ? 4 : 2> {
  void pack(const double* c, long ld, long n, T* x, long S) const {
    pack_features<5, 7>(c, ld, n, x, S, [](const double* c, double* f) {
      f[5] = 0, f[6] = LOG2E * LOG2E / 2;
      EACH f[k] = c[k] * LOG2E, f[5] += c[k], f[6] += f[k] * f[k];
    });
  }
  void packx(const double* c, long ld, long n, T* x, long S) const { pack(c, ld, n, x, S); }
  void packy(const double* c, long ld, long n, T* y, long S) const { pack(c, ld, n, y, S); }
  template <int R, int JS>
  void add(P<T, R>* s, const T* x, const T* y) const {
    auto dot = this->template X<R>(x, 0) * y[0];
    for (int k = 1; k < 5; k++) dot = dot + this->template X<R>(x, k) * y[k * JS];
    auto q = (this->template X<R>(x, 6) + y[6 * JS]) - dot * T(2);
    auto den = cosv(this->template X<R>(x, 5) - y[5 * JS]) + T(2);
    auto num = exp2v(-vsqrt(q)) * (dot * T(LN2 * LN2) + T(1));
    s[0] = s[0] + quotient(num * y[7 * JS], den);
  }
};
template <class T>
struct Chain3 : Chain<T, 5, 6, 2> {
  void packx(const double* c, long ld, long n, T* x, long S) const { pack_scaled(c, ld, n, 5, 1, x, S); }
  void packy(const double* c, long ld, long n, T* y, long S) const { pack_scaled(c, ld, n, 5, 1, y, S); }
  // a/(1+a) + b/(1+b) with one reciprocal; the product of two denominators overflows only beyond |x - y| = 1e9 (float)
  template <int R>
  static P<T, R> two(const P<T, R>& a, const P<T, R>& b) {
    auto c = a + T(1), d = b + T(1);
    return quotient(a * d + b * c, c * d);
  }
  template <int R, int JS>
  void add(P<T, R>* s, const T* x, const T* y) const {
    P<T, R> e[5], q = {};
    EACH {
      auto t = this->template X<R>(x, k) - y[k * JS];
      e[k] = t * t;
      q = q + e[k];
    }
    auto f = two(e[0], e[1]) + two(e[2], e[3]) + quotient(e[4], e[4] + T(1));
    s[0] = s[0] + f * exp2v(q * T(-LOG2E)) * y[5 * JS];
  }
};
// Coordinates times sqrt(log2 e), so dot and q come in base 2; ln 2 of the logarithm goes into the sum.
template <class T>
struct Chain4 : Chain<T, 6, 7, 4> {
  void pack(const double* c, long ld, long n, T* x, long S) const {
    pack_features<5, 6>(c, ld, n, x, S, [](const double* c, double* f) {
      f[5] = 0;
      EACH f[k] = c[k] * std::sqrt(LOG2E), f[5] += 2 * f[k] * f[k];
    });
  }
  void packx(const double* c, long ld, long n, T* x, long S) const { pack(c, ld, n, x, S); }
  void packy(const double* c, long ld, long n, T* y, long S) const { pack(c, ld, n, y, S); }
  template <int R, int JS>
  void add(P<T, R>* s, const T* x, const T* y) const {
    auto dot = this->template X<R>(x, 0) * y[0];
    for (int k = 1; k < 5; k++) dot = dot + this->template X<R>(x, k) * y[k * JS];
    auto t = (this->template X<R>(x, 5) + y[5 * JS]) - dot * T(4);  // 2 log2(e) |x - y|^2
    s[0] = s[0] + log2v(exp2v(dot) + T(1)) * tanh2(t) * y[6 * JS];
  }
  double result(long, double s, const Data&) const { return s * LN2; }
};
template <class T>
struct Chain5 : Chain<T, 5, 6, wide ? 4 : 2> {
  void packx(const double* c, long ld, long n, T* x, long S) const { pack_scaled(c, ld, n, 5, 1, x, S); }
  void packy(const double* c, long ld, long n, T* y, long S) const { pack_scaled(c, ld, n, 5, 1, y, S); }
  template <int R, int JS>
  void add(P<T, R>* s, const T* x, const T* y) const {
    P<T, R> d = {};
    EACH {
      auto t = this->template X<R>(x, k) - y[k * JS];
      d = d + t * t;
    }
    auto v = (d + T(1)) * (d + T(2)) - quotient(d, d + T(3)) + (d + T(4)) * (d + T(5)) - d * d * (d + T(6));
    s[0] = s[0] + v * y[5 * JS];
  }
};
template <class T>
struct Chain6 : Chain<T, 10, 11, 4> {
  void pack(const double* c, long ld, long n, T* x, long S, double scale) const {
    pack_features<5, 10>(c, ld, n, x, S,
                         [scale](const double* c, double* f) { EACH f[k] = c[k] * scale, f[5 + k] = std::sin(c[k]); });
  }
  void packx(const double* c, long ld, long n, T* x, long S) const { pack(c, ld, n, x, S, 2 * LOG2E); }
  void packy(const double* c, long ld, long n, T* y, long S) const { pack(c, ld, n, y, S, 1); }
  template <int R, int JS>
  void add(P<T, R>* s, const T* x, const T* y) const {
    P<T, R> v = {};
    EACH v = v + vabs(this->template X<R>(x, 5 + k) - tanh2(this->template X<R>(x, k) * y[k * JS]) * y[(5 + k) * JS]);
    s[0] = s[0] + v * y[10 * JS];
  }
};

template <class T>
static int pick(const Args& a) {
  if (a.D != 5) return -1;
  static volatile double power = 0.7;  // known only at run time
  const double p = power;
  typedef const double* In;
  typedef long double* Out;
  auto dist2 = [](In x, In y) {
    double q = 0;
    EACH q += (x[k] - y[k]) * (x[k] - y[k]);
    return q;
  };
  auto dot = [](In x, In y) {
    double q = 0;
    EACH q += x[k] * y[k];
    return q;
  };
  if (a.name == "chain1")
    return run_pairs(a, Chain1<T>{{}, p}, [=](In x, In y, double b, double, Out s) {
      double u = 0, v = 1;
      EACH u += std::cos(x[k] - y[k]) * std::tanh(p * x[k]), v += std::fabs(x[k] - y[k]);
      s[0] += u / v * b;
    });
  if (a.name == "chain2")
    return run_pairs(a, Chain2<T>{}, [=](In x, In y, double b, double, Out s) {
      double u = 0;
      EACH u += x[k] - y[k];
      s[0] += std::exp(-std::sqrt(1 + dist2(x, y))) * (1 + dot(x, y)) / (2 + std::cos(u)) * b;
    });
  if (a.name == "chain3")
    return run_pairs(a, Chain3<T>{}, [=](In x, In y, double b, double, Out s) {
      double u = 0;
      EACH {
        const double e = (x[k] - y[k]) * (x[k] - y[k]);
        u += e / (1 + e);
      }
      s[0] += u * std::exp(-dist2(x, y)) * b;
    });
  if (a.name == "chain4")
    return run_pairs(a, Chain4<T>{}, [=](In x, In y, double b, double, Out s) {
      s[0] += std::log(1 + std::exp(dot(x, y))) * std::tanh(dist2(x, y)) * b;
    });
  if (a.name == "chain5")
    return run_pairs(a, Chain5<T>{}, [=](In x, In y, double b, double, Out s) {
      const double d = dist2(x, y);
      s[0] += ((d + 1) * (d + 2) - d / (d + 3) + (d + 4) * (d + 5) - d * d * (d + 6)) * b;
    });
  if (a.name == "chain6")
    return run_pairs(a, Chain6<T>{}, [=](In x, In y, double b, double, Out s) {
      double u = 0;
      EACH u += std::fabs(std::sin(x[k]) - std::sin(y[k]) * std::tanh(x[k] * y[k]));
      s[0] += u * b;
    });
  return -1;
}
int chain_case(const Args& a) { return a.f32 ? pick<float>(a) : pick<double>(a); }
