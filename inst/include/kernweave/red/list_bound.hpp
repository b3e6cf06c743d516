// A bound from a sample, for lists: at least K of a lane's terms are below it, so few others enter. The sampled terms
// are dealt out to 3 K groups; the bound lies just above the K-th smallest of the groups' least terms.
#pragma once
#include "state.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace red {

// A single lane takes no sample.
template <class L, bool kMany = (L::kLanes > 1)>
struct SampledBound {
  KW_FN static constexpr long long storage(int) { return 0; }
  KW_FN void init(int) {}
};

template <class L>
struct SampledBound<L, true> {
  using Number = typename L::Number;
  int places;
  int group;      // group of the next term; -1 while no sample is taken
  Number* least;  // least term of each group, a vector each

  KW_FN static constexpr int groups(int places) { return 3 * places; }
  KW_FN static constexpr long long storage(int places) {
    return static_cast<long long>(groups(places)) * L::kLanes * static_cast<long long>(sizeof(Number));
  }
  KW_FN void init(int asked) {
    places = asked;
    group = -1;
  }
  KW_FN void begin(void* storage) {
    group = 0;
    least = static_cast<Number*>(storage);
    for (int g = 0; g < groups(places); ++g) infinity<L>().store(of(g));
  }
  KW_FN bool looks() const { return group >= 0; }
  KW_FN void look_at(L value) {
    lesser(value, L::load(of(group))).store(of(group));
    group = group + 1 < groups(places) ? group + 1 : 0;
  }
  // Sorts the groups by merge exchange, whose comparisons do not wait for each other.
  KW_FN L end() {
    group = -1;
    const int count = groups(places);
    int half = 1;
    while (2 * half < count) half *= 2;
    for (int run = half; run > 0; run /= 2) {
      exchange(run, 0, run);
      for (int apart = half; apart > run; apart /= 2) exchange(run, run, apart - run);
    }
    // The terms may be fewer than the places.
    return just_above(L::load(of(places - 1)));
  }

 private:
  // Orders the pairs of groups g and g + apart, for g in every other run of `run` groups, from group `first` on.
  KW_FN void exchange(int run, int first, int apart) {
    const int last = groups(places) - apart;
    for (; first < last; first += 2 * run)
      for (int g = first; g < first + run && g < last; ++g) {
        const L one = L::load(of(g)), other = L::load(of(g + apart));
        lesser(one, other).store(of(g));
        greater(one, other).store(of(g + apart));
      }
  }
  KW_FN Number* of(int g) const { return least + g * L::kLanes; }
};

}  // namespace red
}  // inline namespace KW_ISA
}  // namespace kernweave
