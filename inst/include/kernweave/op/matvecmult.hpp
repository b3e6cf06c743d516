// MatVecMult: matrix (by columns, as many rows as the result has components) times vector.
#pragma once
#include "../read.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace op {

struct MatVecMult {
  template <class L, class Out>
  KW_FN static void loop(Read<L> matrix, Read<L> vector, Out out, int rows, const int*) {
    for (int k = 0; k < rows; ++k) {
      L total(0.0);
      for (int l = 0; l < vector.width; ++l) total = total + matrix[k + l * rows] * vector[l];
      out[k] = total;
    }
  }
};

}  // namespace op
}  // inline namespace KW_ISA
}  // namespace kernweave
