// Unpick: components added to a vector of zeros, each at its place (1-based); a = {how many, the places, width of the
// result}.
#pragma once
#include "../read.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace op {

struct Unpick {
  template <class L, class Out>
  KW_FN static void loop(Read<L> x, Out out, int width, const int* a) {
    for (int k = 0; k < width; ++k) out[k] = L(0.0);
    for (int k = 0; k < x.width; ++k) out[a[1 + k] - 1] = out[a[1 + k] - 1] + x[k];
  }
};

}  // namespace op
}  // inline namespace KW_ISA
}  // namespace kernweave
