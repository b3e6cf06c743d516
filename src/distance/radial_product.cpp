// Computes products of radial formulas: a product has the factors of both, a linear operation chooses components.
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
  // An element-wise operation does not move components.
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

// --- linear maps ----------------------------------------------------------------------------------------------------
// Finds the matrix of a linear step column by column: runs the step on one unit vector after the other.

namespace {

using Lanes = std::vector<Lane>;

Lane component(const Lanes& value, int at) { return value[value.size() == 1 ? 0 : static_cast<std::size_t>(at)]; }

Lanes result_of(const Step& step, const std::vector<Lanes>& in) {
  const OpRow& r = row(step.op);
  Lanes out(static_cast<std::size_t>(step.width), Lane(0.0));
  Lane lanes[3];
  const auto at = [&](int d) {
    for (std::size_t k = 0; k < in.size(); ++k) lanes[k] = component(in[k], d);
    return lanes;
  };
  if (r.form == Form::loop) {
    Read<Lane> reads[3];
    for (std::size_t k = 0; k < in.size(); ++k) reads[k] = {in[k].data(), 1, static_cast<int>(in[k].size())};
    r.loop(reads, out.data(), step.width, step.attributes.data());
  } else if (r.form == Form::fold) {
    out[0] = r.start();
    for (int d = 0; d < fold_width(step); ++d) out[0] = r.next(out[0], at(d));
  } else {
    for (int d = 0; d < step.width; ++d) out[static_cast<std::size_t>(d)] = r.value(at(d));
  }
  return out;
}

}  // namespace

bool chooses(const LinearMap& map) {
  const auto is_one = [](const auto& terms) { return terms.size() == 1 && terms[0].second == 1; };
  return std::all_of(map.begin(), map.end(), is_one);
}

LinearMap map_of(const Step& step, std::size_t argument, const std::vector<std::vector<double>>& numbers) {
  std::vector<Lanes> in;
  for (std::size_t k = 0; k < step.in.size(); ++k) {
    in.push_back(Lanes(static_cast<std::size_t>(step.in[k].width), Lane(0.0)));
    for (std::size_t d = 0; d < numbers[k].size(); ++d) in[k][d] = Lane(numbers[k][d]);
  }
  LinearMap map(static_cast<std::size_t>(step.width));
  Lanes& own = in[argument];
  if (row(step.op).form == Form::elementwise) {
    std::fill(own.begin(), own.end(), Lane(1.0));
    const Lanes out = result_of(step, in);
    for (std::size_t c = 0; c < map.size(); ++c)
      map[c].emplace_back(own.size() == 1 ? 0 : static_cast<int>(c), out[c].v);
    return map;
  }
  for (std::size_t d = 0; d < own.size(); ++d) {
    own[d] = Lane(1.0);
    const Lanes out = result_of(step, in);
    for (std::size_t c = 0; c < map.size(); ++c)
      if (out[c].v != 0) map[c].emplace_back(static_cast<int>(d), out[c].v);
    own[d] = Lane(0.0);
  }
  return map;
}

}  // namespace distance
}  // namespace kernweave
