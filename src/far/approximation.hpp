// An approximated matrix: a formula's pairs of points, parted into far and near ones, and products with the far ones;
// or parted into negligible and other ones.
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
  device::Device* device = nullptr;  // that products go to, if to one
};

// A level, for people to read.
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

  // Weights, column by column, in the order of boxes. Are all of them finite?
  virtual bool sort(const double* weights, int columns, const arrays::Workers& workers, double* sorted) const = 0;
  // Products of sorted weights in the order of points: the sums over far pairs, and what those over near pairs are, in
  // the order of boxes, unless that is null. Each column of weights has a column of results, and of `bounds` unless
  // that is null, for each component of the formula.
  virtual void multiply(const double* sorted, const double* near, int columns, const arrays::Workers& workers,
                        double* out, double* bounds) const = 0;
  // Returns the product on a device. The first call sends all that the product needs.
  DeviceProduct& on(device::Device* device, const arrays::Workers& workers);
  // Points on both sides whose pair with themselves is none of the near ones.
  std::vector<std::int64_t> far_from_themselves() const;
  virtual const Fresh<int>& order_of_rows() const = 0;
  virtual const Fresh<int>& order_of_columns() const = 0;
  virtual const std::vector<Rectangle>& near() const = 0;
  virtual std::vector<LevelReport> levels() const = 0;
  virtual double near_pairs() const = 0;
  virtual double outliers() const = 0;  // points of both sides in no box
  virtual int components() const = 0;
  virtual double bytes() const = 0;

  // The profile, and why it has no expansion where it has none: texts.
  virtual std::string formula() const = 0;
  virtual std::string why_no_series() const = 0;
  virtual std::string factors() const = 0;  // which sides have some

  bool rough = false;  // do near pairs need points in float64?
  double scale = 0;    // the largest value of the formula, with numbers and factors
  bool same = false;   // is the matrix its own transpose, since both sides have the same points and factors?

 private:
  virtual std::unique_ptr<DeviceProduct> sent_to(device::Device* device, const arrays::Workers& workers) const = 0;

  std::map<device::Device*, std::unique_ptr<DeviceProduct>> sent_;
};

// --- truncation.cpp -------------------------------------------------------------------------------------------------
// The pairs of points for which a formula of their distance is negligible: tight boxes of points in any number of
// components, and the pairs of boxes that are left.

// The threshold up to which values may be left out.
struct Allowance {
  double tolerance = 0;
  bool relative = true;  // to the largest value
};

struct Truncation {
  std::vector<int> rows, columns;    // the points in order
  std::vector<Rectangle> kept;       // by places in that order; rows in order, columns in order
  double kept_pairs = 0;
  double largest_left_out = 0;  // no value is larger of a pair that is not kept
  double scale = 0;             // the largest value of the formula, times the largest factors of rows and columns
};

Truncation truncated(const distance::RadialForm& form, const Allowance& allowance, const arrays::Workers& workers);

}  // namespace far
}  // namespace kernweave
