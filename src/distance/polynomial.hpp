// Polynomials of the components of a difference, whose terms all have one degree.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace kernweave {
namespace distance {

class Polynomial {
 public:
  // The components that a term multiplies, in ascending order: a square is the same one twice.
  using Powers = std::vector<int>;

  static Polynomial number(double x) { return Polynomial(Powers(), x); }
  static Polynomial component(int which, double times) { return Polynomial(Powers(1, which), times); }
  Polynomial() = default;  // no terms: nothing, whatever the degree

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

// A value's components; one stands for all of the same.
using Polynomials = std::vector<Polynomial>;

template <class T>
const T& of_component(const std::vector<T>& all, std::size_t component) {
  return all[all.size() == 1 ? 0 : component];
}
Polynomials operator*(const Polynomials& a, const Polynomials& b);
Polynomials operator*(const Polynomials& a, double number);
Polynomials operator+(const Polynomials& a, const Polynomials& b);
// The degree of those that have terms; 0 where none has.
int degree_of(const Polynomials& all);
bool is_zero(const Polynomials& all);
// How many products of terms a product takes.
double work_of_product(const Polynomials& a, const Polynomials& b);

// The number that `b` is multiplied by to be `a`, up to rounding; none where there is no such number.
std::optional<double> ratio(const Polynomials& a, const Polynomials& b);

}  // namespace distance
}  // namespace kernweave
