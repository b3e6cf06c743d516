// ArgKMin: the K smallest values so far, sorted, and where they stood. NaN never enters.
#pragma once
#include "../lane.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace red {

template <class L>
struct ArgKMin {
  using Number = typename L::Number;
  static constexpr bool kAdds = false, kShort = true, kExponents = false;

  L bound;       // the last place once the list is full, else NaN: what is at least this is plain
  Index* where;  // of each lane k places; 0 in those still empty
  Number* least; // ascending
  int k;

  KW_FN static long long storage(int k) {
    return static_cast<long long>(L::kLanes) * k * static_cast<long long>(sizeof(Index) + sizeof(Number));
  }
  // Indices first: they need the stricter alignment.
  KW_FN void init(void* storage, int places) {
    k = places;
    bound = nan<L>();
    where = static_cast<Index*>(storage);
    least = reinterpret_cast<Number*>(where + L::kLanes * places);
    for (int p = 0; p < L::kLanes * k; ++p) {
      least[p] = lane(infinity<L>(), 0);
      where[p] = 0;
    }
  }
  KW_FN void step(L value, L, typename L::Indices index, typename L::Mask valid) {
    // Not by plain(): where two axes are folded, a tie may come with a smaller row number.
    const typename L::Mask enters = valid && !(bound < value) && !is_nan(value);
    each_lane(enters, [&](int l) { take(l, lane(value, l), lane(index, l)); });
  }
  KW_FN typename L::Mask plain(L value) const { return bound <= value; }
  KW_FN static L less_plain(L value, L other) { return lesser(value, other); }
  KW_FN void step_plain(L, L) {}

  template <class M>
  KW_FN void merge(const ArgKMin<M>& later, int lane) {
    const int first = lane * later.k;
    for (int p = first; p < first + later.k && later.where[p] != 0; ++p)
      take(0, static_cast<Number>(later.least[p]), later.where[p]);
  }
  KW_FN void finish(L*, Index* indices) const {
    for (int p = 0; p < k; ++p) indices[p] = where[p];
  }

 private:
  KW_FN bool before(Number value, Index index, int p) const {
    return value < least[p] || where[p] == 0 || (value == least[p] && index < where[p]);
  }
  KW_FN void take(int lane, Number value, Index index) {
    const int first = lane * k, last = first + k - 1;
    if (k == 0 || !before(value, index, last)) return;
    int p = last;
    for (; p > first && before(value, index, p - 1); --p) {
      least[p] = least[p - 1];
      where[p] = where[p - 1];
    }
    least[p] = value;
    where[p] = index;
    if (where[last] != 0) bound = with_lane(bound, lane, least[last]);
  }
};

}  // namespace red
}  // inline namespace KW_ISA
}  // namespace kernweave
