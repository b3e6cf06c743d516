// MinArgMin: the smallest value so far and where it stood. NaN never wins.
#pragma once
#include "../lane.hpp"

namespace kernweave {
namespace red {

template <class L>
struct MinArgMin {
  L least;
  Index where;   // 0 while only NaN, or nothing, has come
  bool only_nan;  // something came, and all of it was NaN

  KW_FN static long long storage(int) { return 0; }
  KW_FN void init(void*, int) {
    least = infinity<L>();
    where = 0;
    only_nan = false;
  }
  KW_FN void step(L value, L, Index index, typename L::Mask valid) {
    if (!valid) return;
    if (is_nan(value)) {
      only_nan = where == 0;
      return;
    }
    take(value, index);
  }
  KW_FN void merge(const MinArgMin& later) {
    if (later.where != 0) take(later.least, later.where);
    else if (where == 0) only_nan = only_nan || later.only_nan;
  }
  KW_FN void finish(L* values, Index* indices) const {
    const L inf = infinity<L>();
    values[0] = where == 0 && only_nan ? inf - inf : least;
    indices[0] = where;
  }

 private:
  KW_FN void take(L value, Index index) {
    const bool wins = where == 0 || value < least || (value == least && index < where);
    if (wins) {
      least = value;
      where = index;
    }
    only_nan = false;
  }
};

}  // namespace red
}  // namespace kernweave
