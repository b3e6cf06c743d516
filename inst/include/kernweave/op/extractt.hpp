// ExtractT: components placed in a vector of zeros; a = {start (1-based), width of the result}.
#pragma once
#include "../read.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace op {

struct ExtractT {
  template <class L, class Out>
  KW_FN static void loop(Read<L> x, Out out, int width, const int* a) {
    const int start = a[0] - 1;
    for (int k = 0; k < width; ++k) {
      const bool inside = k >= start && k < start + x.width;
      out[k] = inside ? x[k - start] : L(0.0);
    }
  }
};

}  // namespace op
}  // inline namespace KW_ISA
}  // namespace kernweave
