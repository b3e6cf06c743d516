// Kernels that build a sparse inverse factor, and list its pairs. The work of a thread is a function of its number, as
// in columns.hpp, and no two threads write the same place. A point's numbers are contiguous.
#pragma once
#include "columns.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// The members of a point are its neighbours and, last, the point itself. Pairs of members are listed row by row of the
// lower triangle, from starts[k] on for point k of a launch; point 0 of the launch is point `together` of all.
struct Members {
  const ColumnTask& task;
  long long k, point, begin;
  int count;

  KW_FN Members(const ColumnTask& t, long long number)
      : task(t), k(number), point(t.together + number), begin(t.starts[number]), count(0) {
    while (count * (count + 1LL) / 2 < t.starts[number + 1] - begin) ++count;
  }

  KW_FN long long place(int m) const { return m + 1 == count ? point : task.places[point * task.slots + m]; }
};

// The row and column of number `at` of a lower triangle, listed row by row.
struct Cell {
  int row, column;

  KW_FN explicit Cell(long long at) : row(0), column(0) {
    while ((row + 1LL) * (row + 2) / 2 <= at) ++row;
    column = static_cast<int>(at - row * (row + 1LL) / 2);
  }
};

// Writes rows of pairs to `out`, columns to `second` and, if the factor has its numbers, weights to `third`; `x_at` has
// the points' rows in the matrix, from 0. There is a thread for each pair that a point may have.
KW_FN void listed_pairs(const ColumnTask& t, long long at) {
  const long long most = (t.slots + 1LL) * (t.slots + 2) / 2;
  const Members members(t, at / most);
  const Cell pair(at % most);
  if (pair.row >= members.count) return;
  const long long to = members.begin + at % most;
  t.out[to] = t.x_at[members.place(pair.row)] + 1.0;
  t.second[to] = t.x_at[members.place(pair.column)] + 1.0;
  if (!t.third) return;
  const auto number = [&](int m) {
    return t.values[members.point * (t.slots + 1) + (m + 1 == members.count ? t.slots : m)];
  };
  t.third[to] = (pair.row == pair.column ? 1 : 2) * number(pair.row) * number(pair.column);
}

// Computes rows `together` to `together` + `parts` - 1 of out = L^-1 x, after the rows before. `values` has the inverse
// of each diagonal block of L, and to its left minus the inverse times L.
KW_FN void forward_rows(const ColumnTask& t, long long at) {
  const long long row = t.together + at % t.parts, point = at / t.parts * t.rows;
  double sum = 0;
  for (long long k = 0; k < t.together; ++k) sum += t.values[row + t.rows * k] * t.out[point + k];
  for (long long k = t.together; k <= row; ++k) sum += t.values[row + t.rows * k] * t.x[point + k];
  t.out[point + row] = sum;
}

// Computes residuals of the listed entries in `out`: adds ridges (`row_values`, one a point), and subtracts inner
// products of columns of x, one a point. A thread has four entries of a point, two rows by two columns.
KW_FN void entries_left(const ColumnTask& t, long long at) {
  const long long sides = t.slots / 2 + 1, most = sides * (sides + 1) / 2;
  const Members members(t, at / most);
  const Cell four(at % most);
  const int a = 2 * four.row, b = 2 * four.column;
  if (a >= members.count) return;
  const auto column = [&](int m) { return t.x + t.rows * members.place(m < members.count ? m : members.count - 1); };
  const double *const a0 = column(a), *const a1 = column(a + 1), *const b0 = column(b), *const b1 = column(b + 1);
  double sums[2][2] = {};
  for (long long k = 0; k < t.rows; ++k) {
    sums[0][0] += a0[k] * b0[k];
    sums[0][1] += a0[k] * b1[k];
    sums[1][0] += a1[k] * b0[k];
    sums[1][1] += a1[k] * b1[k];
  }
  for (int row = a; row < a + 2 && row < members.count; ++row)
    for (int c = b; c < b + 2 && c <= row; ++c) {
      double* const entry = t.out + members.begin + row * (row + 1LL) / 2 + c;
      *entry += (row == c ? t.row_values[members.place(c)] : 0.0) - sums[row - a][c - b];
    }
}

// Computes the factor's columns (`second`) for the points of a launch: the last column of the inverse of the triangle
// in `out`, over the root of its last number, in place. A member at the same position as an earlier member is skipped:
// its number on the diagonal becomes -1. A 0 in a point's own slot means that its triangle is not positive definite.
KW_FN void last_columns(const ColumnTask& t, long long at) {
  const double nothing = t.by[0];
  const Members members(t, at);
  const int n = members.count;
  double* const u = t.second + at * (t.slots + 1);
  for (int s = 0; s <= t.slots; ++s) u[s] = 0;
  double* const triangle = t.out + members.begin;
  const auto row_of = [&](int i) { return triangle + i * (i + 1LL) / 2; };
  for (int i = 0; i < n; ++i) {
    double* const row = row_of(i);
    const double all = row[i];
    double left = all;
    for (int j = 0; j < i; ++j) {
      const double* const other = row_of(j);
      double sum = row[j];
      for (int k = 0; k < j; ++k) sum -= row[k] * other[k];
      row[j] = other[j] < 0 ? 0.0 : sum / other[j];
      left -= row[j] * row[j];
    }
    row[i] = -1;
    if (i + 1 < n && !(left > nothing * all)) {
      for (int j = 0; j < i; ++j) row[j] = 0;
    } else if (left > 0) {
      row[i] = primitive::sqrt(left);
    } else {
      return;
    }
  }
  const double own = 1 / row_of(n - 1)[n - 1];
  for (int j = n - 2; j >= 0; --j) {
    double sum = row_of(n - 1)[j] * own;
    for (int i = j + 1; i + 1 < n; ++i) sum += row_of(i)[j] * u[i];
    u[j] = row_of(j)[j] < 0 ? 0.0 : -sum / row_of(j)[j];
  }
  u[t.slots] = own;
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
