// Products unite factors; linear operations choose among their components.
#include "distance/radial_product.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "distance/radial_form.hpp"
#include "expr/table.hpp"

namespace kernweave {
namespace distance {
namespace {

bool same(const Factor& a, const Factor& b) {
  return a.ref.from == b.ref.from && a.ref.index == b.ref.index && a.divides == b.divides &&
         a.components == b.components;
}
bool same(const std::vector<Factor>& a, const std::vector<Factor>& b) {
  return std::is_permutation(a.begin(), a.end(), b.begin(), b.end(),
                             [](const Factor& x, const Factor& y) { return same(x, y); });
}

// Tells whether each factor is the same number for all components.
bool has_one_number(const RadialProduct& value) {
  const auto wide = [](const Factor& factor) {
    return std::any_of(factor.components.begin(), factor.components.end(),
                       [&](int at) { return at != factor.components[0]; });
  };
  return std::none_of(value.rows.begin(), value.rows.end(), wide) &&
         std::none_of(value.columns.begin(), value.columns.end(), wide);
}
bool is_number(const RadialProduct& value) { return value.is_single() && !value.adds_up && has_one_number(value); }

}  // namespace

NotRadial no_function(Op op) { return {sentence("`", row(op).fn, "()` of points is no function of their distance")}; }

RadialProduct constant_product(const std::vector<double>& numbers) {
  RadialProduct value{{}, {}, {}};
  for (const double number : numbers) value.polynomials.push_back(Polynomial::number(number));
  return value;
}

RadialProduct product(RadialProduct a, const RadialProduct& b) {
  constexpr double kMostWork = 4e6;
  if (work_of_product(a.polynomials, b.polynomials) > kMostWork) throw NotRadial{"it is too long"};
  if (a.adds_up && !is_number(b)) throw no_function(*a.adds_up);
  if (b.adds_up && !is_number(a)) throw no_function(*b.adds_up);
  if (b.adds_up) a.adds_up = b.adds_up;
  a.rows.insert(a.rows.end(), b.rows.begin(), b.rows.end());
  a.columns.insert(a.columns.end(), b.columns.begin(), b.columns.end());
  a.polynomials = a.polynomials * b.polynomials;
  return a;
}
RadialProduct inverse(RadialProduct value) {
  for (std::vector<Factor>* factors : {&value.rows, &value.columns})
    for (Factor& factor : *factors) factor.divides = !factor.divides;
  for (Polynomial& one : value.polynomials) one = Polynomial::number(1 / one.coefficient({}));
  return value;
}
RadialProduct opposite(RadialProduct value) {
  value.polynomials = value.polynomials * -1.0;
  return value;
}

RadialProduct mapped(const LinearMap& map, RadialProduct value, Op op) {
  // Element by element components stay where they are.
  const auto is_other = [&](const auto& terms) { return terms.size() != 1 || terms[0].second != map[0][0].second; };
  if ((value.adds_up ? map.size() == 1 : row(op).form == Form::elementwise) &&
      std::none_of(map.begin(), map.end(), is_other)) {
    if (map[0][0].second != 1) value.polynomials = value.polynomials * map[0][0].second;
    return value;
  }
  if (value.adds_up) throw no_function(*value.adds_up);
  value.polynomials = mapped(map, value.polynomials);
  for (std::vector<Factor>* factors : {&value.rows, &value.columns})
    for (Factor& factor : *factors) {
      if (factor.components.size() == 1) continue;
      const auto at = [&](const auto& term) { return factor.components[static_cast<std::size_t>(term.first)]; };
      std::vector<int> taken;
      for (const auto& terms : map) {
        taken.push_back(terms.empty() ? 0 : at(terms[0]));
        if (std::any_of(terms.begin(), terms.end(), [&](const auto& term) { return at(term) != taken.back(); }))
          throw no_function(op);
      }
      factor.components = taken;
    }
  return value;
}
RadialProduct folded(RadialProduct value, int width, Op op) {
  if (has_one_number(value)) {
    LinearMap all(1);
    for (int d = 0; d < width; ++d) all[0].emplace_back(d, 1.0);
    return mapped(all, std::move(value), op);
  }
  if (value.adds_up) throw no_function(*value.adds_up);
  value.polynomials.resize(static_cast<std::size_t>(width), value.polynomials.back());
  value.adds_up = op;
  return value;
}

bool same_factors(const RadialProduct& a, const RadialProduct& b) {
  return same(a.rows, b.rows) && same(a.columns, b.columns) && a.adds_up.has_value() == b.adds_up.has_value();
}

std::optional<Factor> one_more(std::vector<Factor> more, const std::vector<Factor>& less) {
  if (more.size() != less.size() + 1) return {};
  for (const Factor& factor : less) {
    const auto at = std::find_if(more.begin(), more.end(), [&](const Factor& f) { return same(f, factor); });
    if (at == more.end()) return {};
    more.erase(at);
  }
  return more[0];
}

}  // namespace distance
}  // namespace kernweave
