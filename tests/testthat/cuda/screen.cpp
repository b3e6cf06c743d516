// The screen for the nearest of few components (screen.hpp), carried out on the host: what it finds is what all
// distances find, and points whose order deceives, or whose squares are too large, are given up, no others.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <vector>

#include "on_host.hpp"

#include "kernweave/gpu/screen.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

using Points = std::vector<float>;
int wrong = 0, right = 0;

template <template <class> class State, int kPlacesOf, int kWidth>
struct Formula {
  using L = Scalar<float>;
  struct Arguments {
    Head head;
  };
  static constexpr int kRows = 1, kColumns = 16, kScreened = kWidth, kRowAt = 0, kColumnAt = 0,
                       kColumnNumbers = (kWidth + 4) / 4 * 4, kSquareAt = kWidth;
  static constexpr int kRowNumbers = kWidth, kOnceNumbers = 1;
  struct Tables {
    void read(const L*) {}
  };
  using Near = Fold<State, float, int, 1, kPlacesOf>;
  struct States {
    Near o0[1];
  };
};

template <class F>
class Trial {
 public:
  using L = Scalar<float>;
  static constexpr int kWidth = F::kScreened, kPlaces = F::Near::kPlaces;

  // One row at a time, among columns that fill() makes. How many rows were given up?
  int run(const char* name, int columns, const std::function<void(Points*, Points*)>& fill) {
    int given_up = 0;
    for (int r = 0; r < 50; ++r) {
      Points x(kWidth), y(static_cast<std::size_t>(columns) * kWidth);
      fill(&x, &y);
      given_up += !same(name, x, y, columns);
    }
    return given_up;
  }

 private:
  bool same(const char* name, const Points& x, const Points& y, int columns) {
    int lost = 0;
    typename F::Arguments a{};
    a.head.lost = &lost;
    a.head.sweep = a.head.split = columns;
    place(a, y, columns);
    Rows<F> rows;
    for (int d = 0; d < kWidth; ++d) rows.at[0][d] = L::of(x[static_cast<std::size_t>(d)]);
    typename F::States states;
    states.o0[0].init();
    const Patch patch(a.head);
    Screen<F> screen(a, rows, patch);
    for (int t = 0; t < columns; t += F::kColumns)
      screen.strip(a, rows, columns_.data() + t * F::kColumnNumbers, t, columns - t, states);
    screen.end(a);
    if (lost) return false;
    compare(name, states.o0[0], rows, columns);
    return true;
  }

  // Strips come out even: the last column again.
  void place(const typename F::Arguments& a, const Points& y, int columns) {
    const int padded = (columns + F::kColumns - 1) / F::kColumns * F::kColumns;
    columns_.assign(static_cast<std::size_t>(padded) * F::kColumnNumbers, L(0.0));
    for (int j = 0; j < padded; ++j) {
      float square = 0;
      L* const to = columns_.data() + j * F::kColumnNumbers;
      for (int d = 0; d < kWidth; ++d) {
        to[d] = L::of(y[static_cast<std::size_t>(std::min(j, columns - 1) * kWidth + d)]);
        square += to[d].v * to[d].v;
      }
      to[F::kSquareAt] = L::of(least_square(a.head, square, kScreenError<kWidth>));
    }
  }

  void compare(const char* name, const typename F::Near& found, const Rows<F>& rows, int columns) {
    using M = typename F::Near::L;
    typename F::Near all;
    all.init();
    for (int j = 0; j < columns; ++j) {
      L distance = op::SqDist::start<L>();
      for (int d = 0; d < kWidth; ++d)
        distance =
            op::SqDist::next(distance, rows.at[0][d], columns_[static_cast<std::size_t>(j * F::kColumnNumbers + d)]);
      all.lane[0].state.step(M::of(distance.v), M(1.0), j + 1, true);
    }
    M values[2][kPlaces];
    Index indices[2][kPlaces];
    found.lane[0].state.finish(values[0], indices[0]);
    all.lane[0].state.finish(values[1], indices[1]);
    for (int p = 0; p < kPlaces; ++p) {
      const bool as_it_is =
          indices[0][p] == indices[1][p] &&
          (values[0][p].v == values[1][p].v || (std::isnan(values[0][p].v) && std::isnan(values[1][p].v)));
      if (!as_it_is && wrong < 20)
        std::printf("%s, %d components: place %d is %lld instead of %lld\n", name, kWidth, p, indices[0][p],
                    indices[1][p]);
      ++(as_it_is ? right : wrong);
    }
  }

  std::vector<L> columns_;
};

void expect(const char* what, bool holds) {
  if (!holds) std::printf("%s\n", what);
  ++(holds ? right : wrong);
}

template <class F>
void try_all() {
  static std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const auto some = [&](Points* p, float scale) {
    for (float& number : *p) number = scale * normal(random);
  };
  const auto clouds = [&](float scale) {
    return [&some, scale](Points* x, Points* y) {
      some(x, scale);
      some(y, scale);
    };
  };
  Trial<F> trial;
  for (int columns : {1, 3, 16, 17, 3000})
    expect("clouds are not given up", trial.run("a cloud", columns, clouds(1)) == 0);
  expect("small clouds are not given up", trial.run("a small cloud", 3000, clouds(1e-15f)) == 0);
  expect("huge clouds are given up", trial.run("a huge cloud", 3000, clouds(1e19f)) == 50);
  expect("a row of NaN is not given up", trial.run("a row of NaN", 3000, [&](Points* x, Points* y) {
    clouds(1)(x, y);
    (*x)[0] = NAN;
  }) == 0);
  expect("some NaN are not given up", trial.run("some NaN", 3000, [&](Points* x, Points* y) {
    clouds(1)(x, y);
    for (std::size_t k = 0; k < y->size(); k += 31) (*y)[k] = NAN;
  }) == 0);
  trial.run("ties", 3000, [&](Points* x, Points* y) {
    for (Points* p : {x, y})
      for (float& number : *p) number = static_cast<float>(random() % 4);
  });
  expect("falling distances are given up", trial.run("falling", 3000, [&](Points* x, Points* y) {
    some(x, 1);
    for (std::size_t k = 0; k < y->size(); ++k) (*y)[k] = 3000 - static_cast<float>(k / x->size());
  }) == 50);
}

// Finite distances between squares whose sums are not finite on their way.
void try_overflow() {
  using F = Formula<red::MinArgMin, 1, 2>;
  Trial<F>().run("overflow", 32, [](Points* x, Points* y) {
    *x = {9.03e18f, 1.304e19f};
    for (std::size_t j = 0; j < 32; ++j) {
      (*y)[2 * j] = -9.2e18f;
      (*y)[2 * j + 1] = -1.17e19f;
    }
    (*y)[40] = -9.03e18f;
    (*y)[41] = 1.304e19f;
  });
}

template <class M>
using List5 = red::KMinArgKMinOf<M, 5>;

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave

int main() {
  using namespace kernweave::gpu;
  try_all<Formula<List5, 5, 3>>();
  try_all<Formula<kernweave::red::MinArgMin, 1, 2>>();
  try_all<Formula<kernweave::red::MinArgMin, 1, 15>>();
  try_overflow();
  std::printf("%d right, %d wrong\n", right, wrong);
  return wrong > 0;
}
