// Any: has a true value come?
#pragma once
#include "../lane.hpp"

namespace kernweave {
namespace red {

template <class L>
struct Any {
  typename L::Mask found;

  KW_FN static long long storage(int) { return 0; }
  KW_FN void init(void*, int) { found = truth(L(0.0)); }
  KW_FN void step(L value, L, typename L::Indices, typename L::Mask valid) {
    found = found || (valid && truth(value));
  }
  KW_FN void merge(const Any& later) { found = found || later.found; }
  KW_FN void finish(L* values, typename L::Indices*) const { values[0] = number<L>(found); }
};

}  // namespace red
}  // namespace kernweave
