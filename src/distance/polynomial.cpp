// Computes sums and products of polynomials, term by term, and the axes of a squared distance.
#include "distance/polynomial.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "base/error.hpp"
#include "distance/radial_form.hpp"

namespace kernweave {
namespace distance {
namespace {

constexpr double kSameRatio = 1e-12;  // relative difference of ratios that are equal up to rounding

// Returns a b. Fails on overflow or underflow, since the formula may multiply in another order, without them.
double exact_enough(double a, double b) {
  const double product = a * b;
  const bool is_known = a == 0 || b == 0 || !std::isfinite(a) || !std::isfinite(b) || std::isnormal(product);
  if (!is_known) throw NotRadial{"a product of its numbers is too large, or too small for its digits"};
  return product;
}

}  // namespace

bool Polynomial::is_zero() const {
  return std::all_of(terms_.begin(), terms_.end(), [](const auto& term) { return term.second == 0; });
}

bool Polynomial::is_finite() const {
  return std::all_of(terms_.begin(), terms_.end(), [](const auto& term) { return std::isfinite(term.second); });
}

double Polynomial::coefficient(const Powers& powers) const {
  const auto found = terms_.find(powers);
  return found == terms_.end() ? 0 : found->second;
}

bool Polynomial::is_pure() const {
  return std::all_of(terms_.begin(), terms_.end(),
                     [](const auto& term) { return term.first.empty() || term.first.front() == term.first.back(); });
}

void Polynomial::add(const Polynomial& other, double times) {
  for (const auto& term : other.terms_) terms_[term.first] += times * term.second;
}

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  Polynomial out;
  Polynomial::Powers powers;
  for (const auto& x : a.terms_)
    for (const auto& y : b.terms_) {
      powers.clear();
      std::merge(x.first.begin(), x.first.end(), y.first.begin(), y.first.end(), std::back_inserter(powers));
      out.terms_[powers] += exact_enough(x.second, y.second);
    }
  return out;
}

Polynomials operator*(const Polynomials& a, const Polynomials& b) {
  Polynomials out;
  for (std::size_t c = 0; c < std::max(a.size(), b.size()); ++c) out.push_back(of_component(a, c) * of_component(b, c));
  return out;
}
Polynomials operator*(const Polynomials& a, double number) { return a * Polynomials{Polynomial::number(number)}; }

Polynomials operator+(const Polynomials& a, const Polynomials& b) {
  Polynomials out;
  for (std::size_t c = 0; c < std::max(a.size(), b.size()); ++c) {
    out.push_back(of_component(a, c));
    out.back().add(of_component(b, c), 1);
  }
  return out;
}

int degree_of(const Polynomials& all) {
  for (const Polynomial& one : all)
    if (!one.is_nothing()) return one.degree();
  return 0;
}
bool is_zero(const Polynomials& all) {
  return std::all_of(all.begin(), all.end(), [](const Polynomial& one) { return one.is_zero(); });
}

double work_of_product(const Polynomials& a, const Polynomials& b) {
  double work = 0;
  for (std::size_t c = 0; c < std::max(a.size(), b.size()); ++c)
    work += static_cast<double>(of_component(a, c).terms().size() * of_component(b, c).terms().size());
  return work;
}

std::optional<double> ratio(const Polynomials& a, const Polynomials& b) {
  const std::size_t n = std::max(a.size(), b.size());
  double largest = 0, found = 0;
  for (std::size_t c = 0; c < n; ++c)
    for (const auto& term : of_component(b, c).terms()) {
      if (!(std::abs(term.second) > largest)) continue;
      largest = std::abs(term.second);
      found = of_component(a, c).coefficient(term.first) / term.second;
    }
  if (!(largest > 0)) return {};
  for (std::size_t c = 0; c < n; ++c) {
    const Polynomial &one = of_component(a, c), &other = of_component(b, c);
    const auto differ = [&](const auto& term) {
      const double wanted = found * other.coefficient(term.first);
      return !(std::abs(one.coefficient(term.first) - wanted) <= kSameRatio * std::abs(wanted));
    };
    if (std::any_of(one.terms().begin(), one.terms().end(), differ)) return {};
    if (std::any_of(other.terms().begin(), other.terms().end(), differ)) return {};
  }
  return found;
}

// --- principal axes -------------------------------------------------------------------------------------------------
// A distance that is no sum of squares of components has axes by a Cholesky root; other squares may rotate the axes.

namespace {

constexpr double kNumberOfRounding = 1e-12;  // rounding error of a difference, relative to the sizes of its terms
constexpr double kLastDigits = 4e-15;  // rounding of a pivot of a singular metric; a larger one matters for long points
constexpr std::size_t kLargest = 64;   // the most rows of a matrix

// Diagonalises a symmetric matrix by Jacobi rotations; returns the rotation, whose rows are the axes.
SquareMatrix axes_of(SquareMatrix a) {
  constexpr int kSweeps = 60;
  const std::size_t n = a.rows();
  SquareMatrix rotation(n);
  for (std::size_t k = 0; k < n; ++k) rotation.at(k, k) = 1;
  const auto rotate = [n](SquareMatrix* m, std::size_t p, std::size_t q, double c, double s, bool rows) {
    for (std::size_t k = 0; k < n; ++k) {
      double &x = rows ? m->at(p, k) : m->at(k, p), &y = rows ? m->at(q, k) : m->at(k, q);
      const double rotated = c * x - s * y;
      y = s * x + c * y;
      x = rotated;
    }
  };
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool any = false;
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        const double off = a.at(p, q);
        if (off == 0 || !std::isfinite(off)) continue;
        any = true;
        const double ratio = (a.at(q, q) - a.at(p, p)) / (2 * off);
        const double t = (ratio < 0 ? -1 : 1) / (std::abs(ratio) + std::hypot(1.0, ratio));
        const double c = 1 / std::hypot(1.0, t), s = t * c;
        rotate(&a, p, q, c, s, false);
        rotate(&a, p, q, c, s, true);
        a.at(p, q) = a.at(q, p) = 0;
        rotate(&rotation, p, q, c, s, true);
      }
    if (!any) break;
  }
  return rotation;
}

double largest_of(const SquareMatrix& m) {
  double most = 0;
  for (std::size_t r = 0; r < m.rows(); ++r)
    for (std::size_t c = 0; c < m.rows(); ++c) most = std::max(most, std::abs(m.at(r, c)));
  return most;
}

}  // namespace

PrincipalAxes::PrincipalAxes(const Polynomial& square) {
  std::set<int> known;
  for (const auto& [powers, number] : square.terms()) known.insert(powers.begin(), powers.end());
  components_.assign(known.begin(), known.end());
  if (square.is_pure()) fill_with_scales(square);
  else fill_with_roots(square);
}

void PrincipalAxes::fill_with_scales(const Polynomial& square) {
  for (const int k : components_) {
    const double number = square.coefficient({k, k});
    if (!(number >= 0)) throw NotRadial{sentence("the distance has a weight of ", number)};
    scales_.push_back(std::sqrt(number));
  }
}

// Returns the entry of two components in the symmetric matrix of a polynomial of degree 2.
double PrincipalAxes::across(const Polynomial& one, std::size_t a, std::size_t b) const {
  const double number = one.coefficient({components_[std::min(a, b)], components_[std::max(a, b)]});
  return a == b ? number : number / 2;
}

// Computes the Cholesky root. If the metric is singular, the root is 0 in a direction in which all points coincide.
void PrincipalAxes::fill_with_roots(const Polynomial& square) {
  const std::size_t n = components_.size();
  if (n > kLargest) throw NotRadial{sentence("its metric is a matrix of more than ", kLargest, " components")};
  onto_ = SquareMatrix(n);
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t c = r; c < n; ++c) {
      double rest = across(square, r, c), size = std::abs(rest);
      for (std::size_t k = 0; k < r; ++k) {
        rest -= onto_.at(k, r) * onto_.at(k, c);
        size += std::abs(onto_.at(k, r) * onto_.at(k, c));
      }
      if (r < c) {
        const double root = onto_.at(r, r);
        if (root == 0 && !(std::abs(rest) <= kNumberOfRounding * size)) throw NotRadial{"its metric is not positive"};
        onto_.at(r, c) = root == 0 ? 0 : rest / root;
      } else if (std::abs(rest) > kNumberOfRounding * size) {
        if (!(rest > 0)) throw NotRadial{"its metric is not positive"};
        onto_.at(r, r) = std::sqrt(rest);
      } else if (!std::isfinite(rest)) {
        throw NotRadial{"a number in its metric is not finite"};
      } else if (std::abs(rest) > kLastDigits * size) {
        throw NotRadial{"its metric is nearly singular"};
      }
    }
}

bool PrincipalAxes::is_plain() const {
  return is_scale() && std::all_of(scales_.begin(), scales_.end(), [](double scale) { return scale == 1; });
}

void PrincipalAxes::move(double* point) const {
  if (is_scale()) {
    for (std::size_t d = 0; d < scales_.size(); ++d) point[d] *= scales_[d];
    return;
  }
  std::vector<double> moved(onto_.rows(), 0.0);
  for (std::size_t r = 0; r < moved.size(); ++r)
    for (std::size_t c = 0; c < moved.size(); ++c) moved[r] += onto_.at(r, c) * point[c];
  std::copy(moved.begin(), moved.end(), point);
}

SquareMatrix PrincipalAxes::matrix() const {
  if (!is_scale()) return onto_;
  SquareMatrix out(scales_.size());
  for (std::size_t d = 0; d < scales_.size(); ++d) out.at(d, d) = scales_[d];
  return out;
}

void PrincipalAxes::check_known(const Polynomials& value) const {
  for (const Polynomial& one : value)
    for (const auto& [powers, number] : one.terms()) {
      if (!std::isfinite(number)) throw NotRadial{"a number in it is not finite"};
      for (const int k : powers)
        if (number != 0 && !std::binary_search(components_.begin(), components_.end(), k))
          throw NotRadial{"it knows a component of points that the distance does not"};
    }
}

// Returns the row times the inverse of the axes' matrix, which is upper triangular.
std::vector<double> PrincipalAxes::solved(std::vector<double> row) const {
  for (std::size_t c = 0; c < row.size(); ++c) {
    double size = std::abs(row[c]);
    for (std::size_t k = 0; k < c && !is_scale(); ++k) {
      row[c] -= row[k] * onto_.at(k, c);
      size += std::abs(row[k] * onto_.at(k, c));
    }
    const double root = is_scale() ? scales_[c] : onto_.at(c, c);
    if (root == 0 && std::abs(row[c]) > kNumberOfRounding * size)
      throw NotRadial{"it knows a component of points that the distance does not"};
    row[c] = root == 0 ? 0 : row[c] / root;
  }
  return row;
}

// Returns the symmetric matrix of a polynomial of degree 2 along the axes.
SquareMatrix PrincipalAxes::seen_from_axes(const Polynomial& one) const {
  const std::size_t n = components_.size();
  SquareMatrix half(n), whole(n);
  std::vector<double> line(n);
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < n; ++c) line[c] = across(one, r, c);
    line = solved(line);
    for (std::size_t c = 0; c < n; ++c) half.at(c, r) = line[c];
  }
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < n; ++c) line[c] = half.at(r, c);
    line = solved(line);
    for (std::size_t c = 0; c < n; ++c) whole.at(r, c) = line[c];
  }
  return whole;
}

std::vector<double> PrincipalAxes::numbers_of(const Polynomials& value, int degree) {
  check_known(value);
  const std::size_t n = components_.size();
  const bool pure = std::all_of(value.begin(), value.end(), [](const Polynomial& one) { return one.is_pure(); });
  if (degree > 1 && !(pure && is_scale())) {
    if (degree > 2) throw NotRadial{"it has a power of the difference beside a distance with a metric"};
    return along_common_axes(value);
  }
  std::vector<double> out;
  for (const Polynomial& one : value) {
    if (degree == 0) out.push_back(one.coefficient({}));
    if (degree == 0) continue;
    std::vector<double> line(n);
    for (std::size_t d = 0; d < n; ++d)
      line[d] = one.coefficient(Polynomial::Powers(static_cast<std::size_t>(degree), components_[d]));
    for (int k = 0; k < (is_scale() ? degree : 1); ++k) line = solved(line);
    out.insert(out.end(), line.begin(), line.end());
  }
  return out;
}

// Rotates the axes so that each polynomial is a sum of squares. One polynomial of degree 2 always has axes of its own.
std::vector<double> PrincipalAxes::along_common_axes(const Polynomials& value) {
  const std::size_t n = components_.size();
  if (n > kLargest) throw NotRadial{"it has squares of too many components"};
  std::vector<SquareMatrix> all;
  SquareMatrix together(n);
  double times = 1;
  for (const Polynomial& one : value) {
    all.push_back(seen_from_axes(one));
    const double most = largest_of(all.back());
    for (std::size_t r = 0; r < n && most > 0; ++r)
      for (std::size_t c = 0; c < n; ++c) together.at(r, c) += times * all.back().at(r, c) / most;
    times *= 0.7;
  }
  const SquareMatrix rotation = axes_of(together);
  std::vector<double> out;
  for (const SquareMatrix& one : all) {
    const SquareMatrix rotated = product(product(rotation, one), rotation, true);
    for (std::size_t r = 0; r < n; ++r)
      for (std::size_t c = 0; c < n; ++c) {
        if (r != c && !(std::abs(rotated.at(r, c)) <= kNumberOfRounding * largest_of(one)))
          throw NotRadial{"its components have different axes"};
        if (r == c) out.push_back(rotated.at(r, r));
      }
  }
  onto_ = product(rotation, matrix());
  return out;
}

}  // namespace distance
}  // namespace kernweave
