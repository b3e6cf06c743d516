// MinArgMin: the smallest value so far and where it stood. NaN never wins.
#pragma once
#include "../lane.hpp"

namespace kernweave {
namespace red {

template <class L>
struct MinArgMin {
  using Mask = typename L::Mask;
  using Indices = typename L::Indices;

  L least;
  Indices where;  // 0 while only NaN, or nothing, has come
  Mask nan;       // has a NaN come?

  KW_FN static long long storage(int) { return 0; }
  KW_FN void init(void*, int) {
    least = infinity<L>();
    where = Indices(0);
    nan = truth(L(0.0));
  }
  KW_FN void step(L value, L, Indices index, Mask valid) {
    nan = nan || (valid && is_nan(value));
    take(value, index, valid && !is_nan(value));
  }
  KW_FN void merge(const MinArgMin& later) {
    nan = nan || later.nan;
    take(later.least, later.where, later.where != Indices(0));
  }
  KW_FN void finish(L* values, Indices* indices) const {
    const L inf = infinity<L>();
    values[0] = select(where == Indices(0) && nan, inf - inf, least);
    indices[0] = where;
  }

 private:
  KW_FN void take(L value, Indices index, Mask counts) {
    const Mask first = where == Indices(0) || value < least;
    const Mask wins = counts && (first || (value == least && index < where));
    least = select(wins, value, least);
    where = select(wins, index, where);
  }
};

}  // namespace red
}  // namespace kernweave
