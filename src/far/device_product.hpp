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

  // Numbers of rows or columns of the matrix from the order of points to that of boxes. With `ask`: are they finite? It
  // waits for the answer.
  virtual bool sort(bool of_rows, const double* numbers, int columns, double* sorted, bool ask) = 0;
  // The far part of their sums, in the order of boxes, without factors of rows and numbers; so many for each column of
  // weights. With `by`, those of all columns together, each times its column of these numbers of rows.
  virtual void multiply(const double* sorted, int columns, const double* by, double* sums) = 0;
  virtual int sums() const = 0;
  // The sums of so many columns, with factors and numbers of each component of the formula, and those of near pairs,
  // where there are any, in the order of points.
  virtual void put_back(const double* sums, const double* near, int columns, double* out) = 0;
};

// Factors of rows, for each component of the formula or for all, and of columns, or none; numbers of each component,
// one for each component of the difference; its power; and whether the formula is the sum of its components.
struct Beside {
  const std::vector<double>&of_rows, &of_columns, &of_components;
  int power, components;
  bool adds_up;
};
template <int D>
std::unique_ptr<DeviceProduct> product_on(device::Device* device, const Levels<D>& plan, const Cube<D>& cube,
                                          const Tree<D>& targets, const Tree<D>& sources, const Beside& beside,
                                          const arrays::Workers& workers);

}  // namespace far
}  // namespace kernweave
