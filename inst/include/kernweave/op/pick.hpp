// Pick: the components at a list of places (1-based), in its order; a = {how many, the places}.
#pragma once
#include "../read.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace op {

struct Pick {
  template <class L, class Out>
  KW_FN static void loop(Read<L> x, Out out, int width, const int* a) {
    for (int k = 0; k < width; ++k) out[k] = x[a[1 + k] - 1];
  }
};

}  // namespace op
}  // inline namespace KW_ISA
}  // namespace kernweave
