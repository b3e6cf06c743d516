// Linear operations on components: what each component of a result takes of an argument.
#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include "plan/plan.hpp"

namespace kernweave {
namespace distance {

// For each component of a result: the components of the argument that it takes, and how often.
using LinearMap = std::vector<std::vector<std::pair<int, double>>>;

// Tells whether each component of a result is a component of the argument.
bool chooses(const LinearMap& map);

// The map of an argument that a step is linear in. `numbers` are the values of those that are fixed, by their places.
LinearMap map_of(const Step& step, std::size_t argument, const std::vector<std::vector<double>>& numbers);

// The map applied to components that are sums: add(other, times) adds a multiple of another. One component stands for
// all of the same.
template <class T>
std::vector<T> mapped(const LinearMap& map, const std::vector<T>& value) {
  std::vector<T> out(map.size());
  for (std::size_t c = 0; c < map.size(); ++c)
    for (const auto& [from, times] : map[c])
      out[c].add(value[value.size() == 1 ? 0 : static_cast<std::size_t>(from)], times);
  return out;
}

}  // namespace distance
}  // namespace kernweave
