// ArgKMin: the K smallest values so far, sorted, and where they stood. NaN never enters.
// A list takes one term at a time: an engine with wide lanes compares a whole tile with the last place first.
#pragma once
#include "../lane.hpp"

namespace kernweave {
namespace red {

template <class L>
struct ArgKMin {
  L* least;      // ascending
  Index* where;  // 0 in the places still empty
  int k;

  KW_FN static long long storage(int k) {
    return k * static_cast<long long>(sizeof(Index) + sizeof(L));
  }
  // Indices first: they need the stricter alignment.
  KW_FN void init(void* storage, int places) {
    k = places;
    where = static_cast<Index*>(storage);
    least = reinterpret_cast<L*>(where + places);
    for (int p = 0; p < k; ++p) {
      least[p] = infinity<L>();
      where[p] = 0;
    }
  }
  KW_FN void step(L value, L, Index index, typename L::Mask valid) {
    if (valid && !is_nan(value)) take(value, index);
  }
  KW_FN void merge(const ArgKMin& later) {
    for (int p = 0; p < later.k && later.where[p] != 0; ++p) take(later.least[p], later.where[p]);
  }
  KW_FN void finish(L*, Index* indices) const {
    for (int p = 0; p < k; ++p) indices[p] = where[p];
  }

 private:
  KW_FN bool before(L value, Index index, int p) const {
    return where[p] == 0 || value < least[p] || (value == least[p] && index < where[p]);
  }
  KW_FN void take(L value, Index index) {
    if (k == 0 || !before(value, index, k - 1)) return;
    int p = k - 1;
    for (; p > 0 && before(value, index, p - 1); --p) {
      least[p] = least[p - 1];
      where[p] = where[p - 1];
    }
    least[p] = value;
    where[p] = index;
  }
};

}  // namespace red
}  // namespace kernweave
