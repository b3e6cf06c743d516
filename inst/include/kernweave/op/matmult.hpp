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
    for (int to = 0, first = 0; to < width; to += rows, first += inner)
      matrix_times(left, {rows, inner, 1, rows}, right, first, out, to);
  }
};

}  // namespace op
}  // inline namespace KW_ISA
}  // namespace kernweave
