// The far part of a product on a GPU, which has octrees, interaction lists and expansions.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>
#include "arrays/buffer.hpp"
#include "device/copy.hpp"
#include "device/device.hpp"
#include "far/levels.hpp"
#include "far/octree.hpp"
#include "kernweave/gpu/far_task.hpp"

namespace kernweave {
namespace far {

// A product whose numbers lie on a device, column by column; work is queued on the device's stream.
class DeviceProduct {
 public:
  virtual ~DeviceProduct() = default;

  // Puts numbers of rows or columns of the matrix into the order of boxes. If `ask` is set, waits, and tells whether
  // all numbers are finite.
  virtual bool sort(bool of_rows, const double* numbers, int columns, double* sorted, bool ask) = 0;
  // Computes the far part of products with sorted weights, in the order of boxes, without factors of rows and numbers:
  // sums() results for each column of weights.
  virtual void multiply(const double* sorted, int columns, double* sums) = 0;
  virtual int sums() const = 0;
  // Writes products of `columns` columns in the order of points: sums times factors and numbers of each component of
  // the formula, plus `near`, the sums over near pairs, unless null.
  virtual void put_back(const double* sums, const double* near, int columns, double* out) = 0;
};

// Factors of a radial form, as in RadialForm: of rows, of columns, numbers of each component, the power of the
// difference, the number of components, and whether the formula is their sum.
struct FormFactors {
  const std::vector<double>&of_rows, &of_columns, &of_components;
  int power, components;
  bool adds_up;
};
template <int D>
std::unique_ptr<DeviceProduct> product_on(device::Device* device, const Levels<D>& plan, const TreePair<D>& trees,
                                          const FormFactors& form, const arrays::Workers& workers);

// --- Morton order ---------------------------------------------------------------------------------------------------
// Computes the Morton order of points on a GPU.

// Returns the Morton order of points that are all in the cube.
template <int D>
std::unique_ptr<MortonOrder<D>> device_morton_order(const Points& points, const Cube<D>& cube, device::Device* device);

// --- kernels --------------------------------------------------------------------------------------------------------
// Launches of the kernels for points in order and pairs far apart (kernweave/gpu/morton.hpp, far.hpp).

// The size of a launch: blocks for each slot, slots, threads of a block, and bytes of its shared memory.
struct Grid {
  std::int64_t blocks;
  int slots = 1;
  int threads = gpu::kFarThreads;
  std::int64_t shared_bytes = 0;
};

// Launches the kernel of this name for points of `components` components; a task is passed as its bytes.
void launch(device::Device* device, int components, const char* kernel, const Grid& grid,
            const std::vector<char>& task);
template <class Task>
void launch(device::Device* device, int components, const char* kernel, const Grid& grid, const Task& task) {
  launch(device, components, kernel, grid, device::arguments_of(task));
}

// Returns the source of the kernels.
const std::string& kernels_text(int components);

// --- M2L batches ----------------------------------------------------------------------------------------------------
// Batches for the M2L kernel of a GPU: the interactions of some targets, sorted by class and permutation, and a list of
// the interactions of each target.

struct M2LBatches {
  std::vector<gpu::FarBatch> batches;
  Fresh<int> sources;  // the source of each pair, sorted by class and permutation, then as in the plan
  int first_target = 0;
  std::vector<int> starts;
  Fresh<int> numbers;  // the pairs of each target; target first_target + t has entries starts[t] to starts[t + 1] - 1
};

// Lists the expanded pairs of targets in ranges from `first` to `last` - 1, up to `width` pairs in a batch.
template <int D>
M2LBatches m2l_batches(const Level<D>& level, std::size_t first, std::size_t last, int width,
                     const arrays::Workers& workers);

// --- boxes ----------------------------------------------------------------------------------------------------------
// Octrees on a GPU: points in order, and the range of points of each block of threads.

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

// The points of a tree on the device: their numbers and components, in order, and their factors.
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

  int count, factors_behind = 0;  // factors_behind is 0 if all components have the same factors
  std::shared_ptr<const SortedDevicePoints> lie;
  Block factors;
};

// The boxes of a level that have expansions, and ranges of their points, one for each block of threads.
template <int D>
struct DeviceBoxes {
  int count, range_count;
  Block centres, ranges, starts;  // starts: the first range of each box

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

// --- device_level.cpp -----------------------------------------------------------------------------------------------
// A level's far pairs on a device: boxes, matrices of classes, and batches of pairs.

// The pairs of boxes of some targets.
struct DeviceBatches {
  int batches = 0, first_target = 0, targets = 0, count = 0;
  Block batch, sources, starts, numbers;
};

// Memory for expansions, which all levels reuse.
struct ExpansionBuffers {
  Block moments, locals, parts, waiting;
};

template <int D>
class DeviceLevel {
 public:
  DeviceLevel(Device* device, const Level<D>& level, const TreePair<D>& trees, std::size_t number, int power,
             const arrays::Workers& workers);

  // Return the counts of numbers in each buffer.
  std::int64_t moments() const { return sources_.count * numbers(); }
  std::int64_t locals() const { return targets_.count * numbers(); }
  std::int64_t parts() const { return has_parts() ? sources_.range_count * numbers() : 0; }
  std::int64_t waiting() const { return most_pairs_ * numbers(); }

  void add(const DevicePoints<D>& targets, const DevicePoints<D>& sources, const double* weights, double* sums,
           const ExpansionBuffers& buffers) const;

 private:
  std::int64_t shared_bytes() const;
  std::int64_t numbers() const { return std::int64_t{spread_.count()} * padded_; }  // the numbers of a box
  bool has_parts() const { return sources_.range_count > sources_.count; }

  void send_terms(const LevelTerms<D>& terms);
  void send_matrices(const Level<D>& level);
  void send_pairs(const Level<D>& level, const arrays::Workers& workers);
  void send_lists(const M2LBatches& lists);

  void find_moments(gpu::FarTask task, const DevicePoints<D>& sources, const double* weights,
                    const ExpansionBuffers& buffers) const;
  void apply(gpu::FarTask task, const DeviceBatches& pairs, const ExpansionBuffers& buffers) const;

  Device* const device_;
  const Spread spread_;
  const int terms_, padded_, degrees_;
  const double half_;
  int blocks_ = 0, width_ = 0, most_pairs_ = 0;
  DeviceBoxes<D> targets_, sources_;
  Block set_, ends_, permuted_, starts_, columns_, numbers_;
  std::vector<DeviceBatches> pairs_;
};

}  // namespace far
}  // namespace kernweave
