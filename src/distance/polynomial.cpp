// Sums and products, term by term.
#include "distance/polynomial.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "distance/radial_form.hpp"

namespace kernweave {
namespace distance {
namespace {

constexpr double kSameRatio = 1e-12;  // of numbers that are another's times one number, up to rounding

// The formula may multiply in another order, in which nothing is too large or too small.
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
  return std::all_of(terms_.begin(), terms_.end(), [](const auto& term) {
    return term.first.empty() || term.first.front() == term.first.back();
  });
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
  for (std::size_t c = 0; c < std::max(a.size(), b.size()); ++c)
    out.push_back(of_component(a, c) * of_component(b, c));
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

}  // namespace distance
}  // namespace kernweave
