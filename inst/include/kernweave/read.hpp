// Views of the arguments and the result of an operation with its own loop: components at a fixed stride; and a product
// that several operations share. A loop() is a template over the result's type: a pointer, or a Write.
#pragma once
#include "lane.hpp"

namespace kernweave {
inline namespace KW_ISA {

template <class L>
struct Read {
  const L* at;
  long long stride;
  int width;
  KW_FN L operator[](int k) const { return at[k * stride]; }
};

template <class L>
struct Write {
  L* at;
  long long stride;
  KW_FN L& operator[](int k) const { return at[k * stride]; }
};

// The layout of a matrix: rows lie `down` apart, columns `across` apart.
struct MatrixShape {
  int rows, columns, down, across;
};

// Computes a matrix times a vector, both of components, for the operations on matrices. It takes four rows at a time:
// each number of the vector is read once for the four, whose sums do not wait for each other.
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
