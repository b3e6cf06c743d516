// A matrix of a formula of the distance, taken apart into far and near pairs; multiplies by what the far ones come to.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "distance/cut.hpp"
#include "far/device_product.hpp"
#include "far/levels.hpp"

namespace kernweave {
namespace far {

// What is asked for. The tolerance is relative to the largest value of the formula.
struct Wish {
  double tolerance = 1e-6;
  Grade grade = Grade::audit;
  Prices prices;
};

// A level, for people to read.
struct LevelReport {
  double half;
  int degrees, terms, skipped, far, split;  // the last three are numbers of classes
  double pairs_skipped, pairs_far, work;
};

class Approximation {
 public:
  static std::unique_ptr<Approximation> make(distance::Cut cut, const Wish& wish, const arrays::Workers& workers);
  virtual ~Approximation() = default;

  // `weights` and results by the points as they came, column by column; results are those of each component of the
  // formula, side by side for each column of weights. `bounds` as add_far() has them, or null.
  virtual void multiply(const double* weights, int columns, const arrays::Workers& workers, double* out,
                        double* bounds) const = 0;
  // The far part on a device, which has all it needs from then on.
  virtual std::unique_ptr<DeviceProduct> on(device::Device* device, const arrays::Workers& workers) const = 0;
  virtual const std::vector<int>& order_of_rows() const = 0;
  virtual const std::vector<int>& order_of_columns() const = 0;
  virtual const std::vector<NearRectangle>& near() const = 0;
  virtual std::vector<LevelReport> levels() const = 0;
  virtual double near_pairs() const = 0;
  virtual double strays() const = 0;  // points of both sides in no box
  virtual int components() const = 0;
  virtual double bytes() const = 0;

  // The formula of the squared distance, and why it has no series, where an operation has none.
  virtual std::string formula() const = 0;
  virtual std::string why_no_series() const = 0;
  virtual std::string factors() const = 0;  // on which sides there are some

  bool rough = false;  // is it known of points in float64 alone?
  double scale = 0;   // the largest value of the formula, times the largest factors of rows and columns
  bool same = false;  // is the matrix its own transpose, as the points of both sides are the same, and their factors?
};

}  // namespace far
}  // namespace kernweave
