// Homogeneous polynomials of the components of a difference; and the axes along which a squared distance, a polynomial
// of degree 2, is a sum of squares.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace kernweave {
namespace distance {

class Polynomial {
 public:
  // The components that a term multiplies, in ascending order; a square has its component twice.
  using Powers = std::vector<int>;

  static Polynomial number(double x) { return Polynomial(Powers(), x); }
  static Polynomial component(int which, double times) { return Polynomial(Powers(1, which), times); }
  Polynomial() = default;  // no terms: zero, of any degree

  const std::map<Powers, double>& terms() const { return terms_; }
  bool is_nothing() const { return terms_.empty(); }
  bool is_zero() const;
  bool is_finite() const;
  int degree() const { return is_nothing() ? 0 : static_cast<int>(terms_.begin()->first.size()); }
  double coefficient(const Powers& powers) const;
  // Tells whether each term is a power of a single component.
  bool is_pure() const;

  void add(const Polynomial& other, double times);

 private:
  Polynomial(const Powers& powers, double number) { terms_[powers] = number; }
  friend Polynomial operator*(const Polynomial& a, const Polynomial& b);

  std::map<Powers, double> terms_;
};

Polynomial operator*(const Polynomial& a, const Polynomial& b);

// The components of a value; if all are equal, one stands for all.
using Polynomials = std::vector<Polynomial>;

template <class T>
const T& of_component(const std::vector<T>& all, std::size_t component) {
  return all[all.size() == 1 ? 0 : component];
}
Polynomials operator*(const Polynomials& a, const Polynomials& b);
Polynomials operator*(const Polynomials& a, double number);
Polynomials operator+(const Polynomials& a, const Polynomials& b);
// Returns the degree of the polynomials that have terms; 0 if none has terms.
int degree_of(const Polynomials& all);
bool is_zero(const Polynomials& all);
// Counts the products of terms that a product takes.
double work_of_product(const Polynomials& a, const Polynomials& b);

// Returns the number x with a = x b, up to rounding; nothing if there is no such number.
std::optional<double> ratio(const Polynomials& a, const Polynomials& b);

// A small square matrix of numbers.
class SquareMatrix {
 public:
  explicit SquareMatrix(std::size_t n = 0, double number = 0) : n_(n), numbers_(n * n, number) {}
  std::size_t rows() const { return n_; }
  double& at(std::size_t r, std::size_t c) { return numbers_[r * n_ + c]; }
  double at(std::size_t r, std::size_t c) const { return numbers_[r * n_ + c]; }

 private:
  std::size_t n_;
  std::vector<double> numbers_;
};

// Returns a b, or, if `transposed`, a b' with the transpose of b.
inline SquareMatrix product(const SquareMatrix& a, const SquareMatrix& b, bool transposed = false) {
  const std::size_t n = a.rows();
  SquareMatrix out(n);
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t c = 0; c < n; ++c) out.at(r, c) += a.at(r, k) * (transposed ? b.at(c, k) : b.at(k, c));
  return out;
}

// --- principal axes -------------------------------------------------------------------------------------------------
// The axes along which a squared distance is a sum of squares, and polynomials along these axes.

class PrincipalAxes {
 public:
  // Finds the axes of a squared distance, a polynomial of degree 2 that must not be negative anywhere.
  explicit PrincipalAxes(const Polynomial& square);

  int width() const { return static_cast<int>(components_.size()); }
  // The components of the difference that the distance depends on, in order.
  const std::vector<int>& components() const { return components_; }

  // Writes each polynomial of degree q as a sum over axes d of n_d z_d^q, with the component z_d along axis d. Returns
  // the numbers n_d of one polynomial after the other. May rotate the axes; fails if no axes fit.
  std::vector<double> numbers_of(const Polynomials& value, int degree);
  // Tells whether points are the same along the axes. If not, move() takes a point of the distance's components there.
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
  std::vector<double> scales_;  // one for each component, if axes are not rotated
  SquareMatrix onto_;           // else the matrix that takes a point to the axes
};

}  // namespace distance
}  // namespace kernweave
