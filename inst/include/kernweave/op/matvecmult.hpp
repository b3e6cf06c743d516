// MatVecMult: matrix (by columns, as many rows as the result has components) times vector.
#pragma once
#include "../read.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace op {

struct MatVecMult {
  template <class L, class Out>
  KW_FN static void loop(Read<L> matrix, Read<L> vector, Out out, int rows, const int*) {
    matrix_times(matrix, {rows, vector.width, 1, rows}, vector, 0, out, 0);
  }
};

}  // namespace op
}  // inline namespace KW_ISA
}  // namespace kernweave
