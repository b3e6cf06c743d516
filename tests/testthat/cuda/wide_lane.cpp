// Every row and every state without a list, on a lane of four numbers: none may fall back to one at a time.
// Prints nothing and returns 0 when the four agree with four scalar runs.
#include <cstdio>
#include <cstring>

#include "kernweave/ops.hpp"
#include "kernweave/reductions.hpp"

namespace kernweave {

constexpr int kLanes = 4;

template <class T>
struct Four {
  T v[kLanes];
};

struct Mask4 : Four<bool> {};
struct Index4 : Four<Index> {
  Index4() = default;
  Index4(Index value) { for (Index& x : v) x = value; }
};

template <class To, class From, class F>
To each(const From& a, const From& b, F f) {
  To out;
  for (int k = 0; k < kLanes; ++k) out.v[k] = f(a.v[k], b.v[k]);
  return out;
}

inline Mask4 operator&&(Mask4 a, Mask4 b) { return each<Mask4>(a, b, [](bool x, bool y) { return x && y; }); }
inline Mask4 operator||(Mask4 a, Mask4 b) { return each<Mask4>(a, b, [](bool x, bool y) { return x || y; }); }
inline Mask4 operator!(Mask4 a) { return each<Mask4>(a, a, [](bool x, bool) { return !x; }); }
inline Mask4 operator==(Index4 a, Index4 b) { return each<Mask4>(a, b, [](Index x, Index y) { return x == y; }); }
inline Mask4 operator!=(Index4 a, Index4 b) { return !(a == b); }
inline Mask4 operator<(Index4 a, Index4 b) { return each<Mask4>(a, b, [](Index x, Index y) { return x < y; }); }
inline Index4 select(Mask4 test, Index4 yes, Index4 no) {
  Index4 out;
  for (int k = 0; k < kLanes; ++k) out.v[k] = test.v[k] ? yes.v[k] : no.v[k];
  return out;
}

using One = Scalar<double>;

struct Wide : Four<double> {
  using Number = double;
  using Mask = Mask4;
  using Indices = Index4;
  Wide() = default;
  Wide(double literal) { for (double& x : v) x = literal; }

  template <class F>
  static Wide map(Wide a, Wide b, F f) {
    return each<Wide>(a, b, [&](double x, double y) { return f(One(x), One(y)).v; });
  }
  template <class F>
  static Mask4 test(Wide a, Wide b, F f) {
    return each<Mask4>(a, b, [&](double x, double y) { return f(One(x), One(y)); });
  }
  friend Wide operator+(Wide a, Wide b) { return map(a, b, [](One x, One y) { return x + y; }); }
  friend Wide operator-(Wide a, Wide b) { return map(a, b, [](One x, One y) { return x - y; }); }
  friend Wide operator*(Wide a, Wide b) { return map(a, b, [](One x, One y) { return x * y; }); }
  friend Wide operator/(Wide a, Wide b) { return map(a, b, [](One x, One y) { return x / y; }); }
  friend Wide operator-(Wide a) { return map(a, a, [](One x, One) { return -x; }); }
  friend Mask4 operator<(Wide a, Wide b) { return test(a, b, [](One x, One y) { return x < y; }); }
  friend Mask4 operator<=(Wide a, Wide b) { return test(a, b, [](One x, One y) { return x <= y; }); }
  friend Mask4 operator==(Wide a, Wide b) { return test(a, b, [](One x, One y) { return x == y; }); }
  friend Mask4 differs(Wide a, Wide b) { return test(a, b, [](One x, One y) { return differs(x, y); }); }
  friend Wide exp(Wide a) { return map(a, a, [](One x, One) { return exp(x); }); }
  friend Wide log(Wide a) { return map(a, a, [](One x, One) { return log(x); }); }
  friend Wide sqrt(Wide a) { return map(a, a, [](One x, One) { return sqrt(x); }); }
  friend Wide rsqrt(Wide a) { return map(a, a, [](One x, One) { return rsqrt(x); }); }
  friend Wide square(Wide a) { return map(a, a, [](One x, One) { return square(x); }); }
  friend Mask4 truth(Wide a) { return test(a, a, [](One x, One) { return truth(x); }); }
  friend Mask4 is_nan(Wide a) { return test(a, a, [](One x, One) { return is_nan(x); }); }
  friend Wide select(Mask4 test, Wide yes, Wide no) {
    Wide out;
    for (int k = 0; k < kLanes; ++k) out.v[k] = test.v[k] ? yes.v[k] : no.v[k];
    return out;
  }
};

const double kNaN = -log(One(-1.0)).v;
const double kValues[][kLanes] = {{0.5, -1.0, 3.0, kNaN}, {0.25, -2.0, 3.0, 1.0}, {0.0, 7.0, -0.5, 2.0}, {0.25, -2.0, 3.0, -4.0}};
int failures = 0;

Wide wide(int row) {
  Wide out;
  std::memcpy(out.v, kValues[row], sizeof out.v);
  return out;
}
One one(int row, int lane) { return One(kValues[row][lane]); }

void expect(const char* name, Wide actual, const double* expected) {
  for (int k = 0; k < kLanes; ++k) {
    const bool same = actual.v[k] == expected[k] || (actual.v[k] != actual.v[k] && expected[k] != expected[k]);
    if (!same) std::printf("%s lane %d: %g instead of %g\n", name, k, actual.v[k], expected[k]);
    failures += !same;
  }
}

template <class WideFn, class OneFn>
void compare(const char* name, WideFn on_wide, OneFn on_one) {
  double expected[kLanes];
  for (int k = 0; k < kLanes; ++k) expected[k] = on_one(k).v;
  expect(name, on_wide(), expected);
}

template <template <class> class State>
void compare_state(const char* name) {
  State<Wide> all;
  all.init(nullptr, 1);
  for (int t = 0; t < 4; ++t) all.step(wide(t), Wide(1.0), Index4(t + 1), truth(wide(2)));
  Wide values(0.0);
  Index4 where(0);
  all.finish(&values, &where);
  double expected[kLanes];
  for (int k = 0; k < kLanes; ++k) {
    State<One> single;
    single.init(nullptr, 1);
    for (int t = 0; t < 4; ++t) single.step(one(t, k), One(1.0), t + 1, truth(one(2, k)));
    One value(0.0);
    Index at = 0;
    single.finish(&value, &at);
    expected[k] = value.v;
    failures += at != where.v[k];
  }
  expect(name, values, expected);
}

// States with a list take one term at a time by design.
template <template <class> class State, bool listed>
struct Maybe {
  static void run(const char* name) { compare_state<State>(name); }
};
template <template <class> class State>
struct Maybe<State, true> {
  static void run(const char*) {}
};

constexpr bool listed(const char* inputs) { return inputs[5] == '_' && inputs[6] == 'k'; }

const int kAttributes[] = {1, 2};

template <class F, class L>
L loop1(L a, L b) {
  const L in[] = {a, b};
  L out[4] = {L(0.0), L(0.0), L(0.0), L(0.0)};
  F::loop(Read<L>{in, 1, 2}, out, 2, kAttributes);
  return out[0] + 2 * out[1];
}

template <class F, class L>
L loop2(L a, L b) {
  const L in[] = {a, b, b, a, b, a, a, b};
  L out[8] = {L(0.0), L(0.0), L(0.0), L(0.0), L(0.0), L(0.0), L(0.0), L(0.0)};
  F::loop(Read<L>{in, 1, 2}, Read<L>{in + 4, 1, 2}, out, 2, kAttributes);
  return out[0] + 2 * out[1];
}

int compare_all() {
#define UNARY(Name, ...) \
  compare(#Name, [] { return op::Name::eval(wide(0)); }, [](int k) { return op::Name::eval(one(0, k)); });
#define BINARY(Name, ...) \
  compare(#Name, [] { return op::Name::eval(wide(0), wide(1)); }, [](int k) { return op::Name::eval(one(0, k), one(1, k)); });
#define TERNARY(Name, ...) \
  compare(#Name, [] { return op::Name::eval(wide(2), wide(0), wide(1)); }, \
          [](int k) { return op::Name::eval(one(2, k), one(0, k), one(1, k)); });
#define FOLD1(Name, ...) \
  compare(#Name, [] { return op::Name::next(wide(1), wide(0)); }, [](int k) { return op::Name::next(one(1, k), one(0, k)); });
#define FOLD2(Name, ...) \
  compare(#Name, [] { return op::Name::next(wide(2), wide(0), wide(1)); }, \
          [](int k) { return op::Name::next(one(2, k), one(0, k), one(1, k)); });
#define LOOP1(Name, ...) \
  compare(#Name, [] { return loop1<op::Name>(wide(2), wide(1)); }, [](int k) { return loop1<op::Name>(one(2, k), one(1, k)); });
#define LOOP2(Name, ...) \
  compare(#Name, [] { return loop2<op::Name>(wide(2), wide(1)); }, [](int k) { return loop2<op::Name>(one(2, k), one(1, k)); });
#include "kernweave/ops.def"
#define REDUCTION(Name, fn, inputs, ...) Maybe<red::Name, listed(#inputs)>::run(#Name);
#include "kernweave/reductions.def"
  return failures == 0 ? 0 : 1;
}

}  // namespace kernweave

int main() { return kernweave::compare_all(); }
