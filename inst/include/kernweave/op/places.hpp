// Operations that find, choose and place components, each with its own loop.
#pragma once
#include "../elementary.hpp"
#include "../read.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace op {

// ArgMax: the place of the largest component.
struct ArgMax {
  template <class L, class Out>
  KW_FN static void loop(Read<L> x, Out out, int, const int*) {
    L best = x[0], place = L(1.0), here = L(1.0);
    for (int k = 1; k < x.width; ++k) {
      here = here + L(1.0);
      place = select(best < x[k], here, place);
      best = select(best < x[k], x[k], best);
    }
    out[0] = place;
  }
};

// ArgMin: the place of the smallest component.
struct ArgMin {
  template <class L, class Out>
  KW_FN static void loop(Read<L> x, Out out, int, const int*) {
    L best = x[0], place = L(1.0), here = L(1.0);
    for (int k = 1; k < x.width; ++k) {
      here = here + L(1.0);
      place = select(x[k] < best, here, place);
      best = select(x[k] < best, x[k], best);
    }
    out[0] = place;
  }
};

// OneHot: 1 at the place that a number names, counted from 1, else 0.
struct OneHot {
  template <class L, class Out>
  KW_FN static void loop(Read<L> x, Out out, int width, const int*) {
    L left = nearest(x[0]);
    for (int k = 0; k < width; ++k) {
      left = left - L(1.0);
      out[k] = select(left == L(0.0), L(1.0), L(0.0));
    }
  }
};

// Concat: the components of x, then those of y.
struct Concat {
  template <class L, class Out>
  KW_FN static void loop(Read<L> x, Read<L> y, Out out, int width, const int*) {
    for (int k = 0; k < width; ++k) out[k] = k < x.width ? x[k] : y[k - x.width];
  }
};

// Extract: consecutive components; a = {start (1-based), length}.
struct Extract {
  template <class L, class Out>
  KW_FN static void loop(Read<L> x, Out out, int width, const int* a) {
    for (int k = 0; k < width; ++k) out[k] = x[a[0] - 1 + k];
  }
};

// ExtractT: components placed in a vector of zeros; a = {start (1-based), width of the result}.
struct ExtractT {
  template <class L, class Out>
  KW_FN static void loop(Read<L> x, Out out, int width, const int* a) {
    const int start = a[0] - 1;
    for (int k = 0; k < width; ++k) {
      const bool inside = k >= start && k < start + x.width;
      out[k] = inside ? x[k - start] : L(0.0);
    }
  }
};

// Pick: the components at a list of places (1-based), in its order; a = {how many, the places}.
struct Pick {
  template <class L, class Out>
  KW_FN static void loop(Read<L> x, Out out, int width, const int* a) {
    for (int k = 0; k < width; ++k) out[k] = x[a[1 + k] - 1];
  }
};

// Unpick: components added to a vector of zeros, each at its place (1-based); a = {how many, the places, width of the
// result}.
struct Unpick {
  template <class L, class Out>
  KW_FN static void loop(Read<L> x, Out out, int width, const int* a) {
    for (int k = 0; k < width; ++k) out[k] = L(0.0);
    for (int k = 0; k < x.width; ++k) out[a[1 + k] - 1] = out[a[1 + k] - 1] + x[k];
  }
};

// SumT: one component repeated.
struct SumT {
  template <class L, class Out>
  KW_FN static void loop(Read<L> x, Out out, int width, const int*) {
    for (int k = 0; k < width; ++k) out[k] = x[0];
  }
};

}  // namespace op
}  // inline namespace KW_ISA
}  // namespace kernweave
