// ArgMax: the place of the largest component.
#pragma once
#include "../read.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace op {

struct ArgMax {
  template <class L, class Out>
  KW_FN static void loop(Read<L> x, Out out, int, const int*) {
    L best = x[0], place = L(1.0), here = L(1.0);
    for (int k = 1; k < x.width; ++k) {
      here = here + L(1.0);
      place = select(best < x[k], here, place);
      best = select(best < x[k], x[k], best);
    }
    out[0] = place;
  }
};

}  // namespace op
}  // inline namespace KW_ISA
}  // namespace kernweave
