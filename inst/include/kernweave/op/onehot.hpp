// OneHot: 1 at the place that a number names, counted from 1, else 0.
#pragma once
#include "../elementary.hpp"
#include "../read.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace op {

struct OneHot {
  template <class L, class Out>
  KW_FN static void loop(Read<L> x, Out out, int width, const int*) {
    L left = nearest(x[0]);
    for (int k = 0; k < width; ++k) {
      left = left - L(1.0);
      out[k] = select(left == L(0.0), L(1.0), L(0.0));
    }
  }
};

}  // namespace op
}  // inline namespace KW_ISA
}  // namespace kernweave
