// Products of matrices and of vectors, each with its own loop.
#pragma once
#include "../read.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace op {

// MatMult: matrix times matrix, all by columns; a = {columns of the left one}.
struct MatMult {
  template <class L, class Out>
  KW_FN static void loop(Read<L> left, Read<L> right, Out out, int width, const int* a) {
    const int inner = a[0], rows = left.width / inner;
    for (int to = 0, first = 0; to < width; to += rows, first += inner)
      matrix_times(left, {rows, inner, 1, rows}, right, first, out, to);
  }
};

// MatVecMult: matrix (by columns, as many rows as the result has components) times vector.
struct MatVecMult {
  template <class L, class Out>
  KW_FN static void loop(Read<L> matrix, Read<L> vector, Out out, int rows, const int*) {
    matrix_times(matrix, {rows, vector.width, 1, rows}, vector, 0, out, 0);
  }
};

// VecMatMult: row vector times matrix (by columns, as many columns as the result has components).
struct VecMatMult {
  template <class L, class Out>
  KW_FN static void loop(Read<L> vector, Read<L> matrix, Out out, int columns, const int*) {
    matrix_times(matrix, {columns, vector.width, vector.width, 1}, vector, 0, out, 0);
  }
};

// TensorProd: outer product of two vectors, laid out by columns.
struct TensorProd {
  template <class L, class Out>
  KW_FN static void loop(Read<L> x, Read<L> y, Out out, int, const int*) {
    for (int l = 0; l < y.width; ++l)
      for (int k = 0; k < x.width; ++k) out[k + l * x.width] = x[k] * y[l];
  }
};

}  // namespace op
}  // inline namespace KW_ISA
}  // namespace kernweave
