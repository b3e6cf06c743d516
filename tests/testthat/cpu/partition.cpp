// Cuts of partition.hpp beside serial traces, for random lists: prints what differs, or "held".
#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

#include "kernweave/partition.hpp"

using namespace kernweave::partition;
using kernweave::Index;
using Items = std::vector<int>;

namespace {

std::mt19937 random_bits(7);
int any_of(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_bits); }
int failures = 0;

void check(bool holds, const char* what) {
  if (!holds && failures++ < 10) std::printf("%s\n", what);
}

// Keys from few to many, all equal, or away from those of the other list.
Items keys(int kind, bool other) {
  Items list(static_cast<std::size_t>(any_of(0, 40)));
  const int most = kind == 0 ? 0 : kind == 1 ? 3 : kind == 2 ? 15 : 1000;
  for (int& key : list) key = any_of(0, most) + (kind == 3 && other ? 2000 : 0);
  std::sort(list.begin(), list.end());
  return list;
}

// Tells for each item of the merged list whether it comes from a.
std::vector<bool> merge_trace(const Items& a, const Items& b) {
  std::vector<bool> from_a;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const bool take_a = j == b.size() || (i < a.size() && a[i] <= b[j]);
    from_a.push_back(take_a);
    take_a ? ++i : ++j;
  }
  return from_a;
}

// Traces lists with equal items in pairs. 0: the first of a pair, 1: the second, 2: an item of a alone, 3: of b alone.
std::vector<int> balanced_trace(const Items& a, const Items& b) {
  std::vector<int> steps;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      steps.push_back(0);
      steps.push_back(1);
      ++i, ++j;
    } else if (j == b.size() || (i < a.size() && a[i] < b[j])) {
      steps.push_back(2);
      ++i;
    } else {
      steps.push_back(3);
      ++j;
    }
  }
  return steps;
}

void check_merges(const Items& a, const Items& b) {
  const Index na = static_cast<Index>(a.size()), nb = static_cast<Index>(b.size());
  const std::vector<bool> trace = merge_trace(a, b);
  const std::vector<int> balanced = balanced_trace(a, b);
  Index from_a = 0;
  Cut cut{0, 0};
  for (Index d = 0; d <= na + nb; ++d) {
    check(merge_path(a, na, b, nb, d) == from_a, "merge path");
    const bool cuts_pair = d < na + nb && balanced[static_cast<std::size_t>(d)] == 1;
    const Cut expected{cut.a, cuts_pair ? cut.b + 1 : cut.b}, found = balanced_path(a, na, b, nb, d);
    check(found.a == expected.a && found.b == expected.b, "balanced path");
    if (d == na + nb) break;
    from_a += trace[static_cast<std::size_t>(d)];
    const int step = balanced[static_cast<std::size_t>(d)];
    (step == 0 || step == 2 ? cut.a : cut.b) += 1;
  }
}

// Items 0, 1, .. of objects with so many each: a walk in parts is the walk as a whole.
void check_walks(int kind) {
  std::vector<Index> ends;
  std::vector<Place> whole;
  Index items = 0;
  const int objects = any_of(0, 30), huge = any_of(0, 30);
  for (int k = 0; k < objects; ++k) {
    const int count = kind == 0 ? 0 : kind == 1 ? any_of(0, 1) : kind == 2 ? any_of(0, 9) : k == huge ? 50 : 1;
    for (int r = 0; r < count; ++r) whole.push_back({k, items++});
    whole.push_back({k, -1});
    ends.push_back(items);
  }
  for (Index k = 0, object = 0; k < items; ++k) {
    while (ends[static_cast<std::size_t>(object)] <= k) ++object;
    check(object_of(ends, objects, k) == object, "object of an item");
  }
  for (Index parts = 1; parts < 7; ++parts) {
    std::vector<Place> found;
    Place from = walk_to(ends, objects, items, 0);
    for (Index part = 0; part < parts; ++part) {
      const Place to = walk_to(ends, objects, items, even_split(items + objects, parts, part + 1));
      walk(
          ends, from, to,
          [&](Index object, Index item) {
            found.push_back({object, item});
          },
          [&](Index object) {
            found.push_back({object, -1});
          });
      from = to;
    }
    const auto same = [](Place a, Place b) { return a.object == b.object && a.item == b.item; };
    check(std::equal(found.begin(), found.end(), whole.begin(), whole.end(), same), "walk");
  }
}

void check_splits() {
  const Index items = any_of(0, 100), parts = any_of(1, 12);
  check(even_split(items, parts, 0) == 0 && even_split(items, parts, parts) == items, "ends of an even split");
  for (Index k = 0; k < parts; ++k) {
    const Index size = even_split(items, parts, k + 1) - even_split(items, parts, k);
    check(size == items / parts || size == items / parts + 1, "parts of an even split");
  }
}

}  // namespace

// Compilers know cuts of what they know.
constexpr int kFew[] = {1, 1, 2, 5}, kMore[] = {1, 2, 2, 3};
static_assert(merge_path(kFew, 4, kMore, 4, 4) == 3);
static_assert(balanced_path(kFew, 4, kMore, 4, 1).b == 1);

int main() {
  for (int k = 0; k < 10000; ++k) {
    check_merges(keys(k % 5, false), keys(k % 5, true));
    check_walks(k % 4);
    check_splits();
  }
  if (failures) std::printf("%d failures\n", failures);
  else std::printf("held\n");
}
