// Sum: the total so far.
#pragma once
#include "../lane.hpp"

namespace kernweave {
namespace red {

template <class L>
struct Sum {
  L total;

  KW_FN static long long storage(int) { return 0; }
  KW_FN void init(void*, int) { total = L(0.0); }
  KW_FN void step(L value, L, typename L::Indices, typename L::Mask valid) {
    total = total + select(valid, value, L(0.0));
  }
  KW_FN void merge(const Sum& later) { total = total + later.total; }
  KW_FN void finish(L* values, typename L::Indices*) const { values[0] = total; }
};

}  // namespace red
}  // namespace kernweave
