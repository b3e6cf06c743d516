// Extract: consecutive components; a = {start (1-based), length}.
#pragma once
#include "../read.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace op {

struct Extract {
  template <class L, class Out>
  KW_FN static void loop(Read<L> x, Out out, int width, const int* a) {
    for (int k = 0; k < width; ++k) out[k] = x[a[0] - 1 + k];
  }
};

}  // namespace op
}  // inline namespace KW_ISA
}  // namespace kernweave
