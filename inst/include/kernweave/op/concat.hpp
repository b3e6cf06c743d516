// Concat: the components of x, then those of y.
#pragma once
#include "../read.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace op {

struct Concat {
  template <class L, class Out>
  KW_FN static void loop(Read<L> x, Read<L> y, Out out, int width, const int*) {
    for (int k = 0; k < width; ++k) out[k] = k < x.width ? x[k] : y[k - x.width];
  }
};

}  // namespace op
}  // inline namespace KW_ISA
}  // namespace kernweave
