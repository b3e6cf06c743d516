// VecMatMult: row vector times matrix (by columns, as many columns as the result has components).
#pragma once
#include "../read.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace op {

struct VecMatMult {
  template <class L, class Out>
  KW_FN static void loop(Read<L> vector, Read<L> matrix, Out out, int columns, const int*) {
    const int rows = vector.width;
    for (int l = 0; l < columns; ++l) {
      L total(0.0);
      for (int k = 0; k < rows; ++k) total = total + vector[k] * matrix[k + l * rows];
      out[l] = total;
    }
  }
};

}  // namespace op
}  // inline namespace KW_ISA
}  // namespace kernweave
