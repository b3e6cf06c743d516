// Products unite factors; linear operations choose among their components.
#include "far/part.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "expr/table.hpp"
#include "far/refused.hpp"

namespace kernweave {
namespace far {
namespace {

bool same(const Factor& a, const Factor& b) {
  return a.ref.from == b.ref.from && a.ref.index == b.ref.index && a.divides == b.divides &&
         a.components == b.components;
}
bool same(const std::vector<Factor>& a, const std::vector<Factor>& b) {
  return std::is_permutation(a.begin(), a.end(), b.begin(), b.end(),
                             [](const Factor& x, const Factor& y) { return same(x, y); });
}

// Is each factor the same number for all components?
bool has_one_number(const Part& part) {
  const auto wide = [](const Factor& factor) {
    return std::any_of(factor.components.begin(), factor.components.end(),
                       [&](int at) { return at != factor.components[0]; });
  };
  return std::none_of(part.rows.begin(), part.rows.end(), wide) &&
         std::none_of(part.columns.begin(), part.columns.end(), wide);
}
bool is_number(const Part& part) { return part.is_single() && !part.adds_up && has_one_number(part); }

}  // namespace

Refused no_function(Op op) { return {sentence("`", row(op).fn, "()` of points is no function of their distance")}; }

Part number_part(const std::vector<double>& numbers) {
  Part part{{}, {}, {}};
  for (const double number : numbers) part.value.push_back(Polynomial::number(number));
  return part;
}

Part product(Part a, const Part& b) {
  constexpr double kMostWork = 4e6;
  if (work_of_product(a.value, b.value) > kMostWork) throw Refused{"it is too long"};
  if (a.adds_up && !is_number(b)) throw no_function(*a.adds_up);
  if (b.adds_up && !is_number(a)) throw no_function(*b.adds_up);
  if (b.adds_up) a.adds_up = b.adds_up;
  a.rows.insert(a.rows.end(), b.rows.begin(), b.rows.end());
  a.columns.insert(a.columns.end(), b.columns.begin(), b.columns.end());
  a.value = a.value * b.value;
  return a;
}
Part inverse(Part part) {
  for (std::vector<Factor>* factors : {&part.rows, &part.columns})
    for (Factor& factor : *factors) factor.divides = !factor.divides;
  for (Polynomial& one : part.value) one = Polynomial::number(1 / one.coefficient({}));
  return part;
}
Part opposite(Part part) {
  part.value = part.value * Polynomials{Polynomial::number(-1)};
  return part;
}

Part under_image(Part part, const Image& image, Op op) {
  if (part.adds_up && image.size() == 1 && image[0].size() == 1) {
    part.value = part.value * Polynomials{Polynomial::number(image[0][0].second)};
    return part;
  }
  if (part.adds_up) throw no_function(*part.adds_up);
  part.value = under(image, part.value);
  for (std::vector<Factor>* factors : {&part.rows, &part.columns})
    for (Factor& factor : *factors) {
      if (factor.components.size() == 1) continue;
      const auto at = [&](const auto& term) { return factor.components[static_cast<std::size_t>(term.first)]; };
      std::vector<int> taken;
      for (const auto& terms : image) {
        taken.push_back(terms.empty() ? 0 : at(terms[0]));
        if (std::any_of(terms.begin(), terms.end(), [&](const auto& term) { return at(term) != taken.back(); }))
          throw no_function(op);
      }
      factor.components = taken;
    }
  return part;
}
Part folded(Part part, int width, Op op) {
  if (has_one_number(part)) {
    Image all(1);
    for (int d = 0; d < width; ++d) all[0].emplace_back(d, 1.0);
    return under_image(std::move(part), all, op);
  }
  if (part.adds_up) throw no_function(*part.adds_up);
  part.value.resize(static_cast<std::size_t>(width), part.value.back());
  part.adds_up = op;
  return part;
}

bool same_factors(const Part& a, const Part& b) {
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

}  // namespace far
}  // namespace kernweave
