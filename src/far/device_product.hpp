// The far part of a product on a GPU, which has octrees, interaction lists and expansions.
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

}  // namespace far
}  // namespace kernweave
