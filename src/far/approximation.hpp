// An approximated matrix: the pairs of points of a formula, divided into far and near pairs, and products with the far
// pairs; or divided into negligible and other pairs.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>
#include "arrays/pieces.hpp"
#include "base/error.hpp"
#include "distance/radial_form.hpp"
#include "far/device_product.hpp"
#include "far/levels.hpp"

namespace kernweave {
namespace far {

// A request for an approximation. The tolerance is relative to the largest value of the formula.
struct ApproximationRequest {
  double tolerance = 1e-6;
  Grade grade = Grade::audit;
  Prices prices;
  device::Device* device = nullptr;  // the device that computes products; null: the host
};

// The properties of a level, for print().
struct LevelReport {
  double half;
  int degrees, terms, skipped, far, split;  // the last three are numbers of classes
  double pairs_skipped, pairs_far, work;
};

// Refuses weights that are not finite. sort() tells whether the weights are finite.
inline void check_finite(bool finite) {
  user_check(finite, Fault::value, "the vector that an approximation multiplies must be finite");
}

class Approximation {
 public:
  static std::unique_ptr<Approximation> make(distance::RadialForm form, const ApproximationRequest& request,
                                             const arrays::Workers& workers);
  virtual ~Approximation() = default;

  // Puts weights, column by column, into the order of boxes. Tells whether all are finite.
  virtual bool sort(const double* weights, int columns, const arrays::Workers& workers, double* sorted) const = 0;
  // Computes products of sorted weights, in the order of points: the sums over far pairs, plus `near` (the sums over
  // near pairs, in the order of boxes) unless null. Each column of weights and component of the formula has a column of
  // results, and a column of `bounds` unless null.
  virtual void multiply(const double* sorted, const double* near, int columns, const arrays::Workers& workers,
                        double* out, double* bounds) const = 0;
  // Returns the product on a device. The first call uploads the plan.
  DeviceProduct& on(device::Device* device, const arrays::Workers& workers);
  // Returns the numbers k for which the pair (k, k) is not near.
  std::vector<std::int64_t> far_from_themselves() const;
  virtual const Fresh<int>& order_of_rows() const = 0;
  virtual const Fresh<int>& order_of_columns() const = 0;
  virtual const std::vector<Rectangle>& near() const = 0;
  virtual std::vector<LevelReport> levels() const = 0;
  virtual double near_pairs() const = 0;
  virtual double outliers() const = 0;  // the number of points of both sides that are in no box
  virtual int components() const = 0;
  virtual double bytes() const = 0;

  // The profile as text, and the reason if it has no expansion.
  virtual std::string formula() const = 0;
  virtual std::string why_no_series() const = 0;
  virtual std::string factors() const = 0;  // the sides that have factors

  bool rough = false;  // do near pairs need points in float64?
  double scale = 0;    // the largest value of the formula, with numbers and factors
  bool same = false;   // is the matrix its own transpose, since both sides have the same points and factors?

 private:
  virtual std::unique_ptr<DeviceProduct> sent_to(device::Device* device, const arrays::Workers& workers) const = 0;

  std::map<device::Device*, std::unique_ptr<DeviceProduct>> sent_;
};

// --- truncation.cpp -------------------------------------------------------------------------------------------------
// Leaves out pairs of points if the formula of their distance is negligible: makes bounding boxes of points in any
// number of components, and lists the pairs of boxes that remain.

// The largest value that may be left out.
struct Allowance {
  double tolerance = 0;
  bool relative = true;  // is the tolerance relative to the largest value?
};

struct Truncation {
  std::vector<int> rows, columns;    // the numbers of the points, in the order of boxes
  std::vector<Rectangle> kept;       // pairs that are kept, by positions in this order; sorted by rows, then by columns
  double kept_pairs = 0;
  double largest_left_out = 0;  // a bound of the values of pairs that are not kept
  double scale = 0;             // the largest value of the formula, times the largest factors of rows and columns
};

Truncation truncated(const distance::RadialForm& form, const Allowance& allowance, const arrays::Workers& workers);

}  // namespace far
}  // namespace kernweave
