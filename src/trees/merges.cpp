// Makes the merges of a hierarchy from its edges, the order of its leaves, and the clusters of a cut.
#include "trees/trees.hpp"

namespace kernweave::trees {
// Puts a point before a cluster, and the smaller number first among two points or two clusters.
Merges merges_of(const std::vector<Edge>& rising) {
  JoinedSets sets(rising.size() + 1);
  std::vector<int> merge(rising.size() + 1, 0);  // the merge of each set, by the set's named point; 0: a single point
  Merges out;
  for (const Edge& edge : rising) {
    int a = sets.of(edge.from), b = sets.of(edge.to);
    const auto name = [&](int set) {
      const int number = merge[static_cast<std::size_t>(set)];
      return number > 0 ? number : -(set + 1);
    };
    int first = name(a), second = name(b);
    const bool both_points = first < 0 && second < 0;
    if (both_points ? first < second : first > second) std::swap(first, second);
    out.first.push_back(first);
    out.second.push_back(second);
    sets.join(a, b);
    merge[static_cast<std::size_t>(a)] = static_cast<int>(out.first.size());
  }
  return out;
}

std::vector<int> leaf_order(const int* first, const int* second, int merges) {
  std::vector<int> order, stack{merges};
  order.reserve(static_cast<std::size_t>(merges) + 1);
  while (!stack.empty()) {
    const int at = stack.back();
    stack.pop_back();
    if (at < 0) {
      order.push_back(-at);
      continue;
    }
    stack.push_back(second[at - 1]);
    stack.push_back(first[at - 1]);
  }
  return order;
}

std::vector<int> cut(const int* first, const int* second, int points, int merges) {
  JoinedSets sets(static_cast<std::size_t>(points));
  std::vector<int> member;  // a point of each merge
  const auto point_of = [&](int at) { return at < 0 ? -at - 1 : member[static_cast<std::size_t>(at) - 1]; };
  for (int k = 0; k < merges; ++k) {
    member.push_back(sets.of(point_of(first[k])));
    sets.join(member.back(), sets.of(point_of(second[k])));
  }
  std::vector<int> number(static_cast<std::size_t>(points), 0), out;
  int clusters = 0;
  for (int p = 0; p < points; ++p) {
    int& own = number[static_cast<std::size_t>(sets.of(p))];
    if (own == 0) own = ++clusters;
    out.push_back(own);
  }
  return out;
}

}  // namespace kernweave::trees
