// Octrees on a GPU: points in order, and the ranges of them that blocks of threads have.
#pragma once
#include <algorithm>
#include <vector>

#include "device/copy.hpp"
#include "device/device.hpp"
#include "far/levels.hpp"
#include "kernweave/gpu/far_task.hpp"

namespace kernweave {
namespace far {

using device::Block;
using device::Device;

template <class T, class Memory>
Block sent(Device* device, const std::vector<T, Memory>& numbers) {
  Block block = device->allocate(std::max<std::size_t>(numbers.size(), 1) * sizeof(T), "boxes of points");
  if (!numbers.empty()) device->upload(block.at(), numbers.data(), numbers.size() * sizeof(T));
  return block;
}
template <class T>
T* pointer_to(const Block& block) {
  return device::address<T>(block.at());
}
inline Block room_for(Device* device, std::int64_t numbers) {
  return device->allocate(static_cast<std::size_t>(std::max<std::int64_t>(numbers, 1)) * sizeof(double),
                          "series of boxes");
}

// Points of a tree on the device, the number of each where they came from, and factors of each.
template <int D>
struct DevicePoints {
  DevicePoints(Device* device, const Octree<D>& tree, const std::vector<double>& of_points)
      : count(tree.size()), lie(tree.morton().on(device)) {
    if (of_points.empty()) return;
    std::vector<double> sorted;
    const Fresh<int>& order = tree.morton().order();
    if (of_points.size() > order.size()) factors_behind = count;
    for (std::size_t from = 0; from < of_points.size(); from += order.size())
      for (const int number : order) sorted.push_back(of_points[from + static_cast<std::size_t>(number)]);
    factors = sent(device, sorted);
  }

  int count, factors_behind = 0;  // 0 where factors are those of all components
  std::shared_ptr<const SortedDevicePoints> lie;
  Block factors;
};

// Boxes of a level that have expansions, and the ranges of their points that blocks of threads have.
template <int D>
struct DeviceBoxes {
  int count, range_count;
  Block centres, ranges, starts;  // where ranges of each box begin

  DeviceBoxes(Device* device, const Cube<D>& cube, const std::vector<typename Octree<D>::Box>& boxes,
             const NumberedBoxes& which, double half, int most_points)
      : count(which.count) {
    std::vector<gpu::FarCentre> all;
    std::vector<gpu::PointRange> cut;
    std::vector<int> first;
    for (std::size_t b = 0; b < boxes.size(); ++b) {
      if (!which.has(b)) continue;
      const Centre<D> centre(cube, boxes[b].at, half);
      gpu::FarCentre own{};
      std::copy(centre.at.begin(), centre.at.end(), own.at);
      std::copy(centre.rest.begin(), centre.rest.end(), own.rest);
      std::copy(boxes[b].at.begin(), boxes[b].at.end(), own.box);
      all.push_back(own);
      first.push_back(static_cast<int>(cut.size()));
      for (int at = boxes[b].begin; at < boxes[b].end; at += most_points)
        cut.push_back({at, std::min(boxes[b].end, at + most_points), which.number[b]});
    }
    range_count = static_cast<int>(cut.size());
    first.push_back(range_count);
    centres = sent(device, all);
    ranges = sent(device, cut);
    starts = sent(device, first);
  }
};

}  // namespace far
}  // namespace kernweave
