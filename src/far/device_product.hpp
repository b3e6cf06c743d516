// The far part of a product on a device, which has trees, lists of boxes and their series.
#pragma once
#include <memory>
#include <vector>

#include "device/device.hpp"
#include "far/levels.hpp"

namespace kernweave {
namespace far {

// All numbers lie on the device, columns one after the other; work is put on its stream.
class DeviceProduct {
 public:
  virtual ~DeviceProduct() = default;

  // Numbers of rows or columns of the matrix from the order of points to that of boxes. Are they finite? Waits.
  virtual bool sort(bool of_rows, const double* numbers, int columns, double* sorted) = 0;
  // The far part of their sums, in the order of boxes, without factors of rows and the number.
  virtual void multiply(const double* sorted, int columns, double* sums) = 0;
  // The sums, with these, and those of near pairs, where there are any, in the order of points.
  virtual void put_back(const double* sums, const double* near, int columns, double* out) = 0;
};

// Factors of rows and columns, or none, and a number that all are multiplied by.
struct Beside {
  const std::vector<double>&of_rows, &of_columns;
  double number;
};
template <int D>
std::unique_ptr<DeviceProduct> product_on(device::Device* device, const Levels<D>& plan, const Cube<D>& cube,
                                          const Tree<D>& targets, const Tree<D>& sources, const Beside& beside);

}  // namespace far
}  // namespace kernweave
