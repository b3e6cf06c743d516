// SumT: one component repeated.
#pragma once
#include "../read.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace op {

struct SumT {
  template <class L, class Out>
  KW_FN static void loop(Read<L> x, Out out, int width, const int*) {
    for (int k = 0; k < width; ++k) out[k] = x[0];
  }
};

}  // namespace op
}  // inline namespace KW_ISA
}  // namespace kernweave
