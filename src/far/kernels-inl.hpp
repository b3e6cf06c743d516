// One instruction set's loops: points lie side by side in the lanes of vectors, and so do pairs of boxes.
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

// kRows rows of the result at once, so that a row of the table is read for all of them.
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

// Calls f(first point, points, polynomials) with T_0 to T_{degrees - 1} of each axis for a vector of points. Lanes
// behind the last point are at the centre: the next box may be so far that polynomials there are no numbers.
template <int D, class F>
inline void each_strip(const far::BoxPoints<D>& box, int degrees, F f) {
  Vector polynomials[D][far::kMostDegrees];
  for (int p = 0; p < box.count; p += kLanes) {
    const int count = box.count - p < kLanes ? box.count - p : kLanes;
    for (int d = 0; d < D; ++d) {
      Vector u = ((load(box.at[d] + p) - box.centre[d]) - box.rest[d]) * (1 / box.half);
      for (int k = count; k < kLanes; ++k) u[k] = 0;
      Vector* const t = polynomials[d];
      t[0] = Vector{} + 1.0;
      if (degrees > 1) t[1] = u;
      for (int a = 2; a < degrees; ++a) t[a] = 2.0 * u * t[a - 1] - t[a - 2];
    }
    f(p, count, polynomials);
  }
}

template <int D>
void moments(const far::BoxPoints<D>& box, const double* weights, const far::Terms& terms, double* room, double* out) {
  const int p = terms.degrees, all = far::power(p, D);
  for (int k = 0; k < all * kLanes; ++k) room[k] = 0;
  const auto add = [&](int at, Vector v) { store(load(room + at * kLanes) + v, room + at * kLanes); };
  each_strip<D>(box, p, [&](int first, int count, const Vector (*t)[far::kMostDegrees]) {
    Vector w{};
    for (int k = 0; k < count; ++k) w[k] = weights[first + k];
    for (int a = 0; a < p; ++a) {
      const Vector of_a = w * t[0][a];
      if constexpr (D == 1) add(a, of_a);
      else
        for (int b = 0; b < p; ++b) {
          const Vector of_b = of_a * t[1][b];
          if constexpr (D == 2) add(a * p + b, of_b);
          else
            for (int c = 0; c < p; ++c) add((a * p + b) * p + c, of_b * t[D - 1][c]);
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
  each_strip<D>(box, p, [&](int first, int count, const Vector (*t)[far::kMostDegrees]) {
    Vector sum{};
    for (int a = 0; a < p; ++a) {
      Vector of_a{};
      if constexpr (D == 1) of_a += room[a];
      else
        for (int b = 0; b < p; ++b) {
          Vector of_b{};
          if constexpr (D == 2) of_b += room[a * p + b];
          else
            for (int c = 0; c < p; ++c) of_b += room[(a * p + b) * p + c] * t[D - 1][c];
          of_a += of_b * t[1 % D][b];
        }
      sum += of_a * t[0][a];
    }
    for (int k = 0; k < count; ++k) out[first + k] += sum[k];
  });
}

}  // namespace far_loops
}  // inline namespace KW_ISA
}  // namespace kernweave
