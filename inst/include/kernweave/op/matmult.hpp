// MatMult: matrix times matrix, all by columns; a = {columns of the left one}.
#pragma once
#include "../read.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace op {

struct MatMult {
  template <class L, class Out>
  KW_FN static void loop(Read<L> left, Read<L> right, Out out, int width, const int* a) {
    const int inner = a[0], rows = left.width / inner;
    for (int k = 0; k < width; ++k) {
      const int row = k % rows, column = k / rows;
      L total(0.0);
      for (int l = 0; l < inner; ++l) total = total + left[row + l * rows] * right[l + column * inner];
      out[k] = total;
    }
  }
};

}  // namespace op
}  // inline namespace KW_ISA
}  // namespace kernweave
