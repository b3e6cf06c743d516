// The loops for one instruction set: lanes of vectors are points, or pairs of boxes. A source for each instruction set
// includes this file, and names the set (lanes/isa.hpp).
#pragma once
#include "far/loops.hpp"
#include "lanes/isa.hpp"

KW_ISA_BEGIN
#include "kernweave/lane.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace far_loops {

typedef double Vector __attribute__((vector_size(kVectorBytes)));
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(double));

inline Vector load(const double* from) {
  Vector v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
inline void store(Vector v, double* to) { __builtin_memcpy(to, &v, sizeof v); }

// --- small matrices ---

// Computes kRows rows of the result at once, so that each row of the table is read once for all.
template <int kRows, int kWide>
inline void transform_block(const double* numbers, int count, std::int64_t rest, const double* table, int to, int from,
                           double* out) {
  Vector sums[kRows][kWide] = {};
  for (int m = 0; m < count; ++m) {
    Vector row[kWide];
    downward<kWide - 1>([&](auto w) { row[w] = load(table + static_cast<std::int64_t>(m) * to + from + w * kLanes); });
    downward<kRows - 1>([&](auto r) {
      downward<kWide - 1>([&](auto w) { sums[r][w] += numbers[m * rest + r] * row[w]; });
    });
  }
  downward<kRows - 1>([&](auto r) {
    downward<kWide - 1>([&](auto w) {
      store(sums[r][w], out + static_cast<std::int64_t>(r) * to + from + w * kLanes);
    });
  });
}
template <int kRows>
inline void transform_rows(const double* numbers, int count, std::int64_t rest, const double* table, int to,
                          double* out) {
  int from = 0;
  for (; from + 2 * kLanes <= to; from += 2 * kLanes)
    transform_block<kRows, 2>(numbers, count, rest, table, to, from, out);
  for (; from < to; ++from)
    for (int r = 0; r < kRows; ++r) {
      double sum = 0;
      for (int m = 0; m < count; ++m) sum += numbers[m * rest + r] * table[static_cast<std::int64_t>(m) * to + from];
      out[static_cast<std::int64_t>(r) * to + from] = sum;
    }
}
inline void transform(const double* numbers, int count, std::int64_t rest, const double* table, int to, double* out) {
  constexpr int kRows = 4;
  std::int64_t r = 0;
  for (; r + kRows <= rest; r += kRows) transform_rows<kRows>(numbers + r, count, rest, table, to, out + r * to);
  for (; r < rest; ++r) transform_rows<1>(numbers + r, count, rest, table, to, out + r * to);
}

inline void multiply(const far::BlockRows& matrix, const double* in, double* out) {
  constexpr int kWide = far::kBatch / kLanes, kRows = far::kRowsOfBlock;
  for (int block = 0; block < matrix.blocks; ++block) {
    Vector sums[kRows][kWide] = {};
    for (int e = matrix.first[block]; e < matrix.first[block + 1]; ++e) {
      const double* const from = in + static_cast<std::int64_t>(matrix.columns[e]) * far::kBatch;
      const double* const numbers = matrix.numbers + static_cast<std::int64_t>(e) * kRows;
      Vector column[kWide];
      downward<kWide - 1>([&](auto w) { column[w] = load(from + w * kLanes); });
      downward<kRows - 1>([&](auto r) {
        downward<kWide - 1>([&](auto w) { sums[r][w] += numbers[r] * column[w]; });
      });
    }
    double* const to = out + static_cast<std::int64_t>(block) * kRows * far::kBatch;
    downward<kRows - 1>([&](auto r) {
      downward<kWide - 1>([&](auto w) { store(sums[r][w], to + r * far::kBatch + w * kLanes); });
    });
  }
}

// --- points ---

// Takes kTogether points at once, as kStrips vectors: coefficients and moments are read and written once for all.
constexpr int kStrips = 4, kTogether = kStrips * kLanes;
typedef Vector Strip[kStrips];

template <class F>
inline void each_vector(F f) {
  downward<kStrips - 1>(f);
}

// Calls f(first point, points, polynomials) with T_0 to T_{degrees - 1} of each axis. Lanes behind the last point are
// at the centre, since polynomials at the points of the next box may overflow.
template <int D, class F>
inline void each_strip(const far::BoxPoints<D>& box, int degrees, F f) {
  Strip polynomials[D][far::kMostDegrees];
  for (int p = 0; p < box.count; p += kTogether) {
    const int count = box.count - p < kTogether ? box.count - p : kTogether;
    for (int d = 0; d < D; ++d)
      each_vector([&](auto w) {
        Vector u = ((load(box.at[d] + p + w * kLanes) - box.centre[d]) - box.rest[d]) * (1 / box.half);
        const int there = count - w * kLanes;
        for (int k = there < 0 ? 0 : there; k < kLanes; ++k) u[k] = 0;
        Strip* const t = polynomials[d];
        t[0][w] = Vector{} + 1.0;
        if (degrees > 1) t[1][w] = u;
        for (int a = 2; a < degrees; ++a) t[a][w] = 2.0 * u * t[a - 1][w] - t[a - 2][w];
      });
    f(p, count, polynomials);
  }
}

template <int D>
void moments(const far::BoxPoints<D>& box, const double* weights, const far::Terms& terms, double* room, double* out) {
  const int p = terms.degrees, all = far::power(p, D);
  for (int k = 0; k < all * kLanes; ++k) room[k] = 0;
  const auto add_along_last = [&](int leading, const Strip& of, const Strip* last) {
    double* to = room + leading * p * kLanes;
    for (int c = 0; c < terms.ends[leading]; ++c, to += kLanes) {
      Vector sum = load(to);
      each_vector([&](auto w) { sum += of[w] * last[c][w]; });
      store(sum, to);
    }
  };
  each_strip<D>(box, p, [&](int first, int count, const Strip (*t)[far::kMostDegrees]) {
    Strip weight{}, of_a, of_b;
    for (int k = 0; k < count; ++k) weight[k / kLanes][k % kLanes] = weights[first + k];
    if constexpr (D == 1) add_along_last(0, weight, t[0]);
    else
      for (int a = 0; a < p; ++a) {
        each_vector([&](auto w) { of_a[w] = weight[w] * t[0][a][w]; });
        if constexpr (D == 2) add_along_last(a, of_a, t[1]);
        else
          for (int b = 0; b < p; ++b) {
            each_vector([&](auto w) { of_b[w] = of_a[w] * t[1][b][w]; });
            add_along_last(a * p + b, of_b, t[D - 1]);
          }
      }
  });
  for (int k = 0; k < terms.count; ++k) {
    const Vector v = load(room + terms.set[k] * kLanes);
    double sum = 0;
    for (int lane = 0; lane < kLanes; ++lane) sum += v[lane];
    out[k] = sum;
  }
}

template <int D>
void evaluate(const far::BoxPoints<D>& box, const double* coefficients, const far::Terms& terms, double* room,
              double* out) {
  const int p = terms.degrees, all = far::power(p, D);
  for (int k = 0; k < all; ++k) room[k] = 0;
  for (int k = 0; k < terms.count; ++k) room[terms.set[k]] = coefficients[k];
  // Adds `by` times the sum along the last axis to `sums`.
  const auto add_along_last = [&](int leading, const Strip* last, const Strip& by, Strip* sums) {
    Strip found{};
    for (int c = 0; c < terms.ends[leading]; ++c)
      each_vector([&](auto w) { found[w] += room[leading * p + c] * last[c][w]; });
    each_vector([&](auto w) { (*sums)[w] += found[w] * by[w]; });
  };
  each_strip<D>(box, p, [&](int first, int count, const Strip (*t)[far::kMostDegrees]) {
    Strip sums{};
    if constexpr (D == 1) add_along_last(0, t[0], t[0][0], &sums);
    else
      for (int a = 0; a < p; ++a) {
        if constexpr (D == 2) add_along_last(a, t[1], t[0][a], &sums);
        else {
          Strip of_a{};
          for (int b = 0; b < p; ++b) add_along_last(a * p + b, t[D - 1], t[1][b], &of_a);
          each_vector([&](auto w) { sums[w] += of_a[w] * t[0][a][w]; });
        }
      }
    for (int k = 0; k < count; ++k) out[first + k] += sums[k / kLanes][k % kLanes];
  });
}

constexpr far::ExpansionLoops kLoops = {kLanes,      transform,   multiply,    moments<1>, moments<2>,
                               moments<3>, evaluate<1>, evaluate<2>, evaluate<3>};

}  // namespace far_loops
}  // inline namespace KW_ISA
}  // namespace kernweave
KW_ISA_END
