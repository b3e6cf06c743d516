// A matrix times a vector, both of components: what the operations on matrices share.
#pragma once
#include "read.hpp"

namespace kernweave {
inline namespace KW_ISA {

// How the numbers of a matrix lie: rows `down` apart, columns `across`.
struct MatrixShape {
  int rows, columns, down, across;
};

// Four rows at a time: each number of the vector is read once for the four, whose sums do not wait for each other.
template <class L, class Out>
KW_FN void matrix_times(Read<L> matrix, MatrixShape m, Read<L> vector, int first, Out out, int to) {
  int row = 0;
  for (; row + 4 <= m.rows; row += 4) {
    L a(0.0), b(0.0), c(0.0), d(0.0);
    int at = row * m.down;
    for (int l = 0; l < m.columns; ++l, at += m.across) {
      const L x = vector[first + l];
      a = a + matrix[at] * x;
      b = b + matrix[at + m.down] * x;
      c = c + matrix[at + 2 * m.down] * x;
      d = d + matrix[at + 3 * m.down] * x;
    }
    out[to + row] = a;
    out[to + row + 1] = b;
    out[to + row + 2] = c;
    out[to + row + 3] = d;
  }
  for (; row < m.rows; ++row) {
    L total(0.0);
    for (int l = 0; l < m.columns; ++l) total = total + matrix[row * m.down + l * m.across] * vector[first + l];
    out[to + row] = total;
  }
}

}  // inline namespace KW_ISA
}  // namespace kernweave
