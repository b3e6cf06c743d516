// The far part of a product on a GPU, which has octrees, interaction lists and expansions.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>
#include "arrays/buffer.hpp"
#include "device/device.hpp"
#include "far/levels.hpp"
#include "far/morton_order.hpp"
#include "kernweave/gpu/far_task.hpp"

namespace kernweave {
namespace far {

// All numbers lie on the device, columns one after the other; work is put on its stream.
class DeviceProduct {
 public:
  virtual ~DeviceProduct() = default;

  // Takes numbers of rows or columns of the matrix from the order of points to that of boxes. With `ask` it waits, and
  // tells whether all are finite.
  virtual bool sort(bool of_rows, const double* numbers, int columns, double* sorted, bool ask) = 0;
  // The far part of the sums of sorted weights, in the order of boxes, without factors and numbers: sums() of them for
  // each column of weights.
  virtual void multiply(const double* sorted, int columns, double* sums) = 0;
  virtual int sums() const = 0;
  // The products of so many columns in the order of points: sums with factors and numbers of each component of the
  // formula, and the sums over near pairs, unless that is null.
  virtual void put_back(const double* sums, const double* near, int columns, double* out) = 0;
};

// Factors of a radial form, as in RadialForm: of rows, of columns, numbers of each component, the power of the
// difference, how many components there are, and whether the formula is their sum.
struct FormFactors {
  const std::vector<double>&of_rows, &of_columns, &of_components;
  int power, components;
  bool adds_up;
};
template <int D>
std::unique_ptr<DeviceProduct> product_on(device::Device* device, const Levels<D>& plan, const TreePair<D>& trees,
                                          const FormFactors& form, const arrays::Workers& workers);

// --- device_morton_order.cpp ---------------------------------------------------------------------------------------
// The Morton order of points on a GPU, which sorts them itself.

// Returns the Morton order of points that are all in the cube.
template <int D>
std::unique_ptr<MortonOrder<D>> device_morton_order(const Points& points, const Cube<D>& cube, device::Device* device);

// --- device_kernels.cpp --------------------------------------------------------------------------------------------
// Launches of the kernels for points in order and pairs far apart (kernweave/gpu/morton.hpp, far.hpp).

// The size of a launch: blocks for each slot, slots, threads of a block, and bytes of its shared memory.
struct Grid {
  std::int64_t blocks;
  int slots = 1;
  int threads = gpu::kFarThreads;
  std::int64_t shared_bytes = 0;
};

// The kernel of that name, for points of `components`; a task is passed as its bytes.
void launch(device::Device* device, int components, const char* kernel, const Grid& grid,
            const std::vector<char>& task);
template <class Task>
void launch(device::Device* device, int components, const char* kernel, const Grid& grid, const Task& task) {
  launch(device, components, kernel, grid, device::arguments_of(task));
}

// The text that a device's compiler is given.
const std::string& kernels_text(int components);

// --- m2l_batches.cpp -----------------------------------------------------------------------------------------------
// Batches for the M2L kernel of a GPU: the interactions of some targets by class and permutation, and target by
// target.

struct M2LBatches {
  std::vector<gpu::FarBatch> batches;
  Fresh<int> sources;  // of each pair, in the order of classes and permutations, otherwise as they are in the plan
  int first_target = 0;
  std::vector<int> starts;
  Fresh<int> numbers;  // of each target from the first on, where its pairs begin, and their numbers
};

// Lists the expanded pairs of targets in ranges from `first` to `last` - 1, up to `width` pairs in a batch.
template <int D>
M2LBatches m2l_batches(const Level<D>& level, std::size_t first, std::size_t last, int width,
                     const arrays::Workers& workers);

}  // namespace far
}  // namespace kernweave
