// VecMatMult: row vector times matrix (by columns, as many columns as the result has components).
#pragma once
#include "../read.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace op {

struct VecMatMult {
  template <class L, class Out>
  KW_FN static void loop(Read<L> vector, Read<L> matrix, Out out, int columns, const int*) {
    matrix_times(matrix, {columns, vector.width, vector.width, 1}, vector, 0, out, 0);
  }
};

}  // namespace op
}  // inline namespace KW_ISA
}  // namespace kernweave
