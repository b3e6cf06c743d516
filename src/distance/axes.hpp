// The axes of a squared distance, along which it is a plain sum of squares, and polynomials of the difference along
// these.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "distance/polynomial.hpp"

namespace kernweave {
namespace distance {

// A square matrix of few rows, row by row.
class SquareMatrix {
 public:
  explicit SquareMatrix(std::size_t n = 0) : n_(n), numbers_(n * n, 0.0) {}
  std::size_t rows() const { return n_; }
  double& at(std::size_t r, std::size_t c) { return numbers_[r * n_ + c]; }
  double at(std::size_t r, std::size_t c) const { return numbers_[r * n_ + c]; }

 private:
  std::size_t n_;
  std::vector<double> numbers_;
};

class Axes {
 public:
  // Of a polynomial of degree 2 that is nowhere negative.
  explicit Axes(const Polynomial& square);

  int width() const { return static_cast<int>(components_.size()); }
  // Those of the difference that the distance knows, in order.
  const std::vector<int>& components() const { return components_; }

  // Of each polynomial, all of one degree, the numbers that the same power of each component along the axes is times.
  // The axes may turn for that; several polynomials may have none in common, or be no such sums.
  std::vector<double> numbers_of(const Polynomials& value, int degree);
  // A point, by its components that the distance knows, to one along the axes.
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
  std::vector<double> scales_;  // of each component, where no axes are turned
  SquareMatrix onto_;           // else the matrix that is multiplied by components
};

}  // namespace distance
}  // namespace kernweave
