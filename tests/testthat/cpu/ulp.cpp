// Measures errors of the mathematics of lanes/math-inl.hpp, in units of the last place. Fails where a bound is exceeded
// or a special value is wrong. Needs -DKW_TEST_BYTES=16, 32 or 64 and the flags to go with it.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define KW_ISA under_test
#include "kernweave/lane.hpp"
namespace kernweave {
inline namespace KW_ISA {
constexpr int kVectorBytes = KW_TEST_BYTES;
}
}  // namespace kernweave
#if defined(__clang__)
#pragma clang fp contract(fast)
#endif
#include "lanes/math-inl.hpp"
#include "kernweave/special.hpp"

namespace {

using kernweave::Pack;

template <class T>
struct Truth;
template <>
struct Truth<float> {
  using Type = double;
  static constexpr const char* kName = "float";
};
template <>
struct Truth<double> {
  using Type = long double;
  static constexpr const char* kName = "double";
};

template <class T>
struct Point {
  T x, y;
};

template <class T>
struct Function {
  const char* name;
  double bound;
  void (*apply)(const T* x, const T* y, T* result);
  typename Truth<T>::Type (*truth)(typename Truth<T>::Type x, typename Truth<T>::Type y);
  bool may_vanish = false;  // 0 will do where the truth is next to the least number of full precision or below
};

// A pack at a time, by a captureless lambda.
#define KW_APPLY(call)                                          \
  [](const T* from_x, const T* from_y, T* result) {             \
    Pack<T> x = Pack<T>::load(from_x), y = Pack<T>::load(from_y); \
    (void)y;                                                    \
    (call).store(result);                                       \
  }
#define KW_TRUTH(call) [](W x, W y) -> W { return (void)y, (call); }

template <class T>
std::vector<Function<T>> functions() {
  using W = typename Truth<T>::Type;
  return {
      {"exp", 2, KW_APPLY(exp(x)), KW_TRUTH(std::exp(x)), true},
      {"exp2", 2, KW_APPLY(exp2(x)), KW_TRUTH(std::exp2(x)), true},
      {"exp2_minus", 2, KW_APPLY(exp2_minus(abs(x))), KW_TRUTH(std::exp2(-std::fabs(x))), true},
      {"log", 2, KW_APPLY(log(x)), KW_TRUTH(std::log(x))},
      {"sin", 2, KW_APPLY(sin(x)), KW_TRUTH(std::sin(x))},
      {"cos", 2, KW_APPLY(cos(x)), KW_TRUTH(std::cos(x))},
      {"tanh", 2, KW_APPLY(tanh(x)), KW_TRUTH(std::tanh(x))},
      {"sqrt", 2, KW_APPLY(sqrt(x)), KW_TRUTH(std::sqrt(x))},
      {"rsqrt", 2, KW_APPLY(rsqrt(x)), KW_TRUTH(x == 0 ? W(0) : 1 / std::sqrt(x))},
      {"inverse_sqrt", 2, KW_APPLY(inverse_sqrt(x)), KW_TRUTH(1 / std::sqrt(x))},
      {"abs", 0, KW_APPLY(abs(x)), KW_TRUTH(std::fabs(x))},
      {"pow", 4, KW_APPLY(pow(x, y)), KW_TRUTH(std::pow(x, y)), true},
      // For functions made of the functions above, the bounds are not proved but seen to be kept.
      {"expm1", 8, KW_APPLY(expm1(x)), KW_TRUTH(std::expm1(x))},
      {"log1p", 8, KW_APPLY(log1p(x)), KW_TRUTH(std::log1p(x))},
      {"softplus", 8, KW_APPLY(softplus(x)), KW_TRUTH(x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x))),
       true},
      {"sinh", 8, KW_APPLY(sinh(x)), KW_TRUTH(std::sinh(x))},
      {"cosh", 8, KW_APPLY(cosh(x)), KW_TRUTH(std::cosh(x))},
      {"asinh", 8, KW_APPLY(asinh(x)), KW_TRUTH(std::asinh(x))},
      {"acosh", 8, KW_APPLY(acosh(x)), KW_TRUTH(std::acosh(x))},
      {"atanh", 8, KW_APPLY(atanh(x)), KW_TRUTH(std::atanh(x))},
      {"asin", 8, KW_APPLY(asin(x)), KW_TRUTH(std::asin(x))},
      {"acos", 8, KW_APPLY(acos(x)), KW_TRUTH(std::acos(x))},
      {"atan", 8, KW_APPLY(atan(x)), KW_TRUTH(std::atan(x))},
      {"erf", 4, KW_APPLY(erf(x)), KW_TRUTH(std::erf(x))},
      {"erfc", 8, KW_APPLY(erfc(x)), KW_TRUTH(std::erfc(x)), true},
      {"nearest", 0, KW_APPLY(nearest(x)), KW_TRUTH(std::nearbyint(x))},
      {"floor", 0, KW_APPLY(floor(x)), KW_TRUTH(std::floor(x))},
  };
}

template <class T>
Function<T> function(const char* name) {
  for (const Function<T>& f : functions<T>()) {
    if (!std::strcmp(f.name, name)) return f;
  }
  return {};
}

// --- where to look -------------------------------------------------------------------------------------

// One in so many of the points below.
#ifdef KW_TEST_SHARE
constexpr int kShare = KW_TEST_SHARE;
#else
constexpr int kShare = 1;
#endif

// Evenly spread, each moved a little so that no pattern of bits is favoured.
std::uint64_t random_state = 1;
double random_unit() {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<double>(random_state >> 11) * 0x1p-53;
}
double spread(double low, double high, int k, int count) { return low + (high - low) * (k + random_unit()) / count; }

template <class T>
void sweep(std::vector<Point<T>>* points, double low, double high, int count) {
  count /= kShare;
  for (int k = 0; k < count; ++k) points->push_back({static_cast<T>(spread(low, high, k, count)), T(0)});
}
// Both signs, sizes from 2^low to 2^high.
template <class T>
void sweep_sizes(std::vector<Point<T>>* points, double low, double high, int count) {
  count /= kShare;
  for (int k = 0; k < count; ++k) {
    T x = static_cast<T>(std::exp2(static_cast<long double>(spread(low, high, k, count))));
    points->push_back({k % 2 ? -x : x, T(0)});
  }
}
// Next to the zeros and the extremes of sine and cosine.
template <class T>
void sweep_quarter_turns(std::vector<Point<T>>* points) {
  for (int n = 1; n <= 63661; n += kShare) {
    T x = static_cast<T>(n * 1.57079632679489661923132169163975144L);
    for (T near : {std::nextafter(x, T(0)), x, std::nextafter(x, T(1e6))}) points->push_back({near, T(0)});
  }
}
// Powers of all sizes, of bases of all sizes and of bases next to 1.
template <class T>
void sweep_powers(std::vector<Point<T>>* points, int count) {
  count /= kShare;
  constexpr int most = std::numeric_limits<T>::max_exponent;
  for (int k = 0; k < count; ++k) {
    double size = spread(-most + 2, most, k, count);
    double log_base = k % 2 ? spread(-most, most, (k * 7) % count, count) : spread(-1, 1, (k * 7) % count, count);
    T x = static_cast<T>(std::exp2(static_cast<long double>(log_base)));
    T y = static_cast<T>(size / log_base);
    points->push_back({x, y});
    if (k % 8 == 0) points->push_back({-x, std::nearbyint(y)});
    if (k % 8 == 1) points->push_back({x, std::nearbyint(y)});
  }
}

template <class T>
std::vector<Point<T>> points_for(const char* name) {
  using Limits = std::numeric_limits<T>;
  const double most = Limits::max_exponent;
  const double tiniest = Limits::min_exponent - Limits::digits;
  std::vector<Point<T>> points;
  if (!std::strcmp(name, "pow")) {
    sweep_powers(&points, 500000);
  } else if (!std::strcmp(name, "exp") || !std::strncmp(name, "exp2", 4)) {
    double scale = name[3] ? 1 : std::log(2.0);
    sweep(&points, -1.2 * most * scale, 1.1 * most * scale, 500000);
    sweep(&points, -2, 2, 400000);
    sweep_sizes(&points, tiniest, 0, 100000);
  } else if (!std::strcmp(name, "sin") || !std::strcmp(name, "cos")) {
    sweep(&points, -8, 8, 400000);
    sweep(&points, -1e5, 1e5, 200000);
    sweep_sizes(&points, tiniest, 0, 50000);
    sweep_sizes(&points, 0, 30, 20000);
    sweep_quarter_turns(&points);
  } else if (!std::strcmp(name, "tanh")) {
    sweep(&points, -10, 10, 600000);
    sweep(&points, -1, 1, 300000);
    sweep_sizes(&points, tiniest, most, 100000);
  } else {
    sweep(&points, 0, 10, 300000);
    sweep(&points, 0.5, 1.5, 400000);
    sweep_sizes(&points, tiniest, most, 300000);
  }
  return points;
}

// --- how far --------------------------------------------------------------------------------------------

// In units of the last place of the true value. Overflow counts as the next power of 2.
template <class T>
double distance(T result, typename Truth<T>::Type truth, bool may_vanish) {
  using W = typename Truth<T>::Type;
  using Limits = std::numeric_limits<T>;
  if (std::isnan(truth) || std::isnan(result)) return std::isnan(truth) && std::isnan(result) ? 0 : HUGE_VAL;
  if (may_vanish && result == 0 && std::fabs(truth) < 1.5 * Limits::min()) return 0;
  const W beyond = std::ldexp(W(1), Limits::max_exponent);
  if (std::isinf(result) && result * truth > 0 && std::fabs(truth) >= beyond) return 0;
  W value = std::isinf(result) ? std::copysign(beyond, W(result)) : W(result);
  int exponent = truth == 0 ? Limits::min_exponent : std::ilogb(truth);
  if (exponent < Limits::min_exponent - 1) exponent = Limits::min_exponent - 1;
  return static_cast<double>(std::fabs(value - truth) / std::ldexp(W(1), exponent - (Limits::digits - 1)));
}

template <class T>
bool measure(const Function<T>& f) {
  constexpr int lanes = Pack<T>::kLanes;
  std::vector<Point<T>> points = points_for<T>(f.name);
  while (points.size() % lanes) points.push_back(points.back());
  double worst = 0;
  Point<T> at = points[0];
  for (std::size_t start = 0; start < points.size(); start += lanes) {
    T x[lanes], y[lanes], result[lanes];
    for (int k = 0; k < lanes; ++k) {
      x[k] = points[start + k].x;
      y[k] = points[start + k].y;
    }
    f.apply(x, y, result);
    for (int k = 0; k < lanes; ++k) {
      double d = distance(result[k], f.truth(x[k], y[k]), f.may_vanish);
      if (d <= worst) continue;
      worst = d;
      at = {x[k], y[k]};
    }
  }
  bool good = worst <= f.bound;
  std::printf("%-6s %-7s %8.3f  at %.17g", f.name, Truth<T>::kName, worst, static_cast<double>(at.x));
  if (!std::strcmp(f.name, "pow")) std::printf(" ^ %.17g", static_cast<double>(at.y));
  std::printf("%s\n", good ? "" : "  EXCEEDS ITS BOUND");
  return good;
}

// --- special values -------------------------------------------------------------------------------------

template <class T>
struct Special {
  const char* name;
  T x, want;
  T y = 0;
};

template <class T>
bool same(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

// The special value stands in every lane in turn, beside ordinary ones.
template <class T>
bool holds(const Special<T>& s) {
  constexpr int lanes = Pack<T>::kLanes;
  Function<T> f = function<T>(s.name);
  for (int k = 0; k < lanes; ++k) {
    T x[lanes], y[lanes], result[lanes];
    for (int other = 0; other < lanes; ++other) x[other] = y[other] = T(1.25);
    x[k] = s.x;
    y[k] = s.y;
    f.apply(x, y, result);
    bool undisturbed = distance(result[(k + 1) % lanes], f.truth(T(1.25), T(1.25)), false) <= f.bound;
    if (undisturbed && same(result[k], s.want)) continue;
    std::printf("%s %s(%.17g, %.17g) is %.17g in lane %d, not %.17g\n", f.name, Truth<T>::kName, double(s.x),
                double(s.y), double(result[k]), k, double(s.want));
    return false;
  }
  return true;
}

template <class T>
T nan_with_payload() {
  // The low bits of R's NA.
  typename kernweave::Layout<T>::Unsigned bits;
  T quiet = std::numeric_limits<T>::quiet_NaN();
  std::memcpy(&bits, &quiet, sizeof bits);
  bits |= 1954;
  std::memcpy(&quiet, &bits, sizeof bits);
  return quiet;
}

template <class T>
std::vector<Special<T>> specials() {
  using Limits = std::numeric_limits<T>;
  const T inf = Limits::infinity(), nan = Limits::quiet_NaN(), most = Limits::max();
  const T top = Limits::max_exponent;
  const T log_2 = T(0.69314718055994530942);
  std::vector<Special<T>> list = {
      {"exp", 0, 1}, {"exp", T(-0.0), 1}, {"exp", inf, inf}, {"exp", -inf, 0}, {"exp", most, inf},
      {"exp", -most, 0}, {"exp", top * log_2 + 1, inf}, {"exp", -2 * top, 0},
      {"exp2", 0, 1}, {"exp2", T(-0.0), 1}, {"exp2", 1, 2}, {"exp2", -1, T(0.5)}, {"exp2", 10, 1024},
      {"exp2", inf, inf}, {"exp2", -inf, 0}, {"exp2", most, inf}, {"exp2", -most, 0}, {"exp2", top, inf},
      {"exp2", top - 1, std::ldexp(T(1), Limits::max_exponent - 1)}, {"exp2", 3 - top, 2 * Limits::min()},
      {"exp2", -2 * top, 0},
      {"log", 1, 0}, {"log", 0, -inf}, {"log", T(-0.0), -inf}, {"log", -1, nan}, {"log", -inf, nan}, {"log", inf, inf},
      {"log", -Limits::denorm_min(), nan},
      {"sin", 0, 0}, {"sin", T(-0.0), T(-0.0)}, {"sin", inf, nan}, {"sin", -inf, nan},
      {"cos", 0, 1}, {"cos", T(-0.0), 1}, {"cos", inf, nan}, {"cos", -inf, nan},
      {"tanh", 0, 0}, {"tanh", T(-0.0), T(-0.0)}, {"tanh", inf, 1}, {"tanh", -inf, -1}, {"tanh", most, 1},
      {"tanh", Limits::denorm_min(), Limits::denorm_min()},
      {"sqrt", 0, 0}, {"sqrt", T(-0.0), T(-0.0)}, {"sqrt", inf, inf}, {"sqrt", -1, nan}, {"sqrt", -inf, nan},
      {"sqrt", 4, 2},
      {"rsqrt", 0, 0}, {"rsqrt", T(-0.0), 0}, {"rsqrt", inf, 0}, {"rsqrt", -1, nan}, {"rsqrt", -inf, nan},
      {"rsqrt", 4, T(0.5)},
      {"inverse_sqrt", 0, inf}, {"inverse_sqrt", T(-0.0), -inf}, {"inverse_sqrt", inf, 0}, {"inverse_sqrt", -1, nan},
      {"inverse_sqrt", -inf, nan}, {"inverse_sqrt", 1, 1}, {"inverse_sqrt", 4, T(0.5)},
      {"abs", T(-0.0), 0}, {"abs", -inf, inf}, {"abs", -3, 3},
  };
  for (const Function<T>& f : functions<T>()) {
    for (T x : {nan, -nan, nan_with_payload<T>()}) list.push_back({f.name, x, nan, 3});
  }
  return list;
}

// pow as C has it: the library is the truth.
template <class T>
std::vector<Special<T>> special_powers() {
  using Limits = std::numeric_limits<T>;
  const T inf = Limits::infinity(), nan = Limits::quiet_NaN(), unit = 1 / Limits::epsilon();
  std::vector<Special<T>> list;
  for (T x : {T(0), T(1), T(2), T(0.5), T(3), inf, nan, Limits::max(), Limits::min(), 1 - Limits::epsilon() / 2}) {
    for (T y : {T(0), T(1), T(2), T(3), T(0.5), T(2.5), inf, nan, unit - 1, unit, unit + 1, 2 * unit, 2 * unit - 1,
                unit / 2 - T(0.5), Limits::max(), Limits::denorm_min()}) {
      for (int signs = 0; signs < 4; ++signs) {
        T base = signs & 1 ? -x : x, exponent = signs & 2 ? -y : y;
        T want = std::pow(base, exponent);
        bool exact = std::isnan(want) || std::isinf(want) || want == 0 || std::fabs(want) == 1;
        if (exact) list.push_back({"pow", base, want, exponent});
      }
    }
  }
  return list;
}

template <class T>
int failures() {
  int failed = 0;
  for (const Function<T>& f : functions<T>()) failed += !measure(f);
  for (const Special<T>& s : specials<T>()) failed += !holds(s);
  for (const Special<T>& s : special_powers<T>()) failed += !holds(s);
  return failed;
}

}  // namespace

int main() {
  std::printf("%d bytes. Largest distance in units of the last place:\n", KW_TEST_BYTES);
  int failed = failures<float>() + failures<double>();
  if (failed) std::printf("%d failures\n", failed);
  return failed != 0;
}
