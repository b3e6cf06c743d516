// The axes of a squared distance, along which it is a plain sum of squares, and polynomials along these.
#pragma once
#include <cstddef>
#include <vector>

#include "distance/polynomial.hpp"
#include "distance/square_matrix.hpp"

namespace kernweave {
namespace distance {

class PrincipalAxes {
 public:
  // Finds the axes of a squared distance, a polynomial of degree 2 that must be nowhere negative.
  explicit PrincipalAxes(const Polynomial& square);

  int width() const { return static_cast<int>(components_.size()); }
  // The components of the difference that the distance depends on, in order.
  const std::vector<int>& components() const { return components_; }

  // Polynomials of one degree q as sums over the axes of a number times the q-th power of the component along each:
  // these numbers, of one polynomial after the other. The axes may be rotated for that; where none fit, it is refused.
  std::vector<double> numbers_of(const Polynomials& value, int degree);
  // Tells whether a point is the same along the axes. If not, move() takes it there, by components of the distance.
  bool is_plain() const;
  void move(double* point) const;

 private:
  bool is_scale() const { return onto_.rows() == 0; }
  void fill_with_scales(const Polynomial& square);
  void fill_with_roots(const Polynomial& square);
  double across(const Polynomial& one, std::size_t a, std::size_t b) const;
  std::vector<double> solved(std::vector<double> row) const;
  SquareMatrix seen_from_axes(const Polynomial& one) const;
  std::vector<double> along_common_axes(const Polynomials& value);
  void check_known(const Polynomials& value) const;
  SquareMatrix matrix() const;

  std::vector<int> components_;
  std::vector<double> scales_;  // one for each component, where no axes are rotated
  SquareMatrix onto_;           // else the matrix that takes a point to the axes
};

}  // namespace distance
}  // namespace kernweave
