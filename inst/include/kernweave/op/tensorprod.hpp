// TensorProd: outer product of two vectors, laid out by columns.
#pragma once
#include "../read.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace op {

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
