// Finds the radial product of each step. Products and quotients unite factors, a sum needs terms with the same factors,
// and any other operation needs arguments without factors. The first polynomial of degree 2 that another operation has
// as its argument is the squared distance.
#include "distance/radial_steps.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "expr/on_lane.hpp"

namespace kernweave {
namespace distance {
namespace {

constexpr int kOne = RadialProduct::kOne;
constexpr const char* kSeveral = "it has several distances; of a sum, each part may have its own approximation";
constexpr const char* kNotFinite = "a number that its distance is multiplied by is not finite, as 1 over a scale of 0";

// Tells whether a term may be left out. A formula of the distance times 0 stays, since it may not be a number.
bool is_nothing(const RadialProduct& value) { return value.is_zero() && (value.place == kOne || value.degree() > 0); }
bool is_uniform(const RadialProduct& value) {
  return value.is_single() || ratio(value.polynomials, {Polynomial::number(1)});
}
bool is_opposite(const RadialProduct& a, const RadialProduct& b) {
  constexpr double kRounding = 1e-12;
  const std::optional<double> times = ratio(a.polynomials, b.polynomials);
  return times && std::abs(*times + 1) <= kRounding;
}

}  // namespace

// --- products ---

RadialProduct RadialSteps::of(const Ref& ref) {
  switch (origins_.depends(ref)) {
    case Origins::Depends::param: return constant_product(origins_.numbers(ref));
    case Origins::Depends::row:
    case Origins::Depends::column: return origins_.factors(ref);
    case Origins::Depends::pair: break;
  }
  const Step* const step = origins_.maker(ref);
  if (!step) throw NotRadial{sentence(origins_.name_of(ref), " enters beside the distance")};
  const auto known = known_.find(ref.index);
  if (known != known_.end()) return reduced(known->second);
  ++depth_;
  refuse_longer();
  const std::optional<Combinations> data = origins_.combination(ref);
  std::optional<Polynomials> difference = data ? difference_.of(*data) : std::nullopt;
  const RadialProduct value = reduced(difference ? RadialProduct{{}, {}, std::move(*difference)} : of_step(*step));
  --depth_;
  known_[ref.index] = value;
  return value;
}

RadialProduct RadialSteps::of_step(const Step& step) {
  if (step.op == Op::Select) return choice(step);
  if (row(step.op).law) return under_law(step);
  if (row(step.op).looks_up) return looked_up(step);
  if (origins_.linear(step)) return under_linear(step);
  return step.in.size() == 2 && row(step.op).form == Form::loop ? of_each_two(step) : plain_step(step);
}

// Applies the step's law of powers. If there are several distances, the first distance that is met counts: from the
// last argument to the first, but arguments that divide come last.
RadialProduct RadialSteps::under_law(const Step& step) {
  const OpRow& r = row(step.op);
  const int width = r.form == Form::fold ? fold_width(step) : step.width;
  std::vector<RadialProduct> args(r.law.powers.size());
  if (r.differences) args[0] = less(step.in[0], step.in[1], width);
  for (const bool divides : {false, true})
    for (std::size_t k = r.differences ? 0 : args.size(); k-- > 0;)
      if ((r.law.powers[k].power < 0) == divides) args[k] = of(step.in[k]);
  if (!r.law.plain()) return of_size(step, args[0]);
  std::optional<RadialProduct> above, below;
  for (std::size_t k = 0; k < args.size(); ++k) {
    const int power = r.law.powers[k].power;
    std::optional<RadialProduct>& side = power < 0 ? below : above;
    for (int times = 0; times < std::abs(power); ++times) side = side ? product_of(*side, args[k]) : args[k];
  }
  RadialProduct value = above.value_or(RadialProduct());
  if (below) value = quotient(value, *below, step.op);
  if (r.law.number != 1) value.polynomials = value.polynomials * r.law.number;
  return r.form == Form::fold ? folded(std::move(value), width, step.op) : value;
}

RadialProduct RadialSteps::product_of(RadialProduct a, RadialProduct b) {
  if (a.degree() + b.degree() > 2) {
    a = settled(std::move(a));
    b = settled(std::move(b));
  }
  RadialProduct both = product(a, b);
  both.place = times(a.place, b.place);
  return both;
}

RadialProduct RadialSteps::quotient(const RadialProduct& a, RadialProduct b, Op op) {
  b = settled(std::move(b));
  if (b.degree() > 0) throw no_function(op);
  RadialProduct both = product(a, inverse(b));
  both.place = b.place == kOne ? a.place : new_step(Op::Divide, {a.place == kOne ? new_number(1) : a.place, b.place});
  return both;
}

// Computes the size of a difference of one component as the root of its square, and its sign as difference / size.
RadialProduct RadialSteps::of_size(const Step& step, const RadialProduct& of) {
  const RadialProduct one = settled(of);
  const PowerLaw& law = row(step.op).law;
  const bool narrow = one.degree() == 1 && one.is_single() && one.place == kOne && fold_width(step) == 1;
  if (!narrow || one.has_factors() || law.powers.size() > 1) return plain_step(step);
  const auto [power, turns] = law.powers[0];
  const int root = new_step(Op::Sqrt, {place_of(settled(product(one, one)))}), beside = power - (turns ? 1 : 0);
  int place = kOne;
  for (int k = 0; k < std::abs(beside); ++k) place = times(place, root);
  if (beside < 0) place = new_step(Op::Divide, {new_number(1), place});
  return {{}, {}, (turns ? one.polynomials : Polynomials{Polynomial::number(1)}) * law.number, place};
}

// Takes a loop in which each component of the result is a product of one component of each argument.
RadialProduct RadialSteps::of_each_two(const Step& step) {
  constexpr double kMostWork = 1e8;
  if (static_cast<double>(step.in[0].width + step.in[1].width) * step.width > kMostWork) return plain_step(step);
  RadialProduct all;
  for (const std::size_t k : {0, 1}) {
    std::vector<std::vector<double>> ones(2);
    ones[1 - k].assign(static_cast<std::size_t>(step.in[1 - k].width), 1.0);
    const auto linear = linear_arguments(step.op, {k == 1, k == 0});
    const LinearMap map = linear ? map_of(step, k, ones) : LinearMap();
    if (!linear || (*linear)[1 - k] || !chooses(map)) return plain_step(step);
    all = product_of(all, mapped(map, of(step.in[k]), step.op));
  }
  return all;
}

// Returns a - b. Each may depend on one side, so that only both together are a difference.
RadialProduct RadialSteps::less(const Ref& a, const Ref& b, int width) {
  const std::optional<Combinations> one = origins_.combination(a), other = origins_.combination(b);
  if (one && other) {
    Combinations both(static_cast<std::size_t>(width));
    for (std::size_t c = 0; c < both.size(); ++c) {
      both[c].add(of_component(*one, c), 1);
      both[c].add(of_component(*other, c), -1);
    }
    if (std::optional<Polynomials> found = difference_.of(both)) return {{}, {}, std::move(*found)};
  }
  return sum(of(a), of(b), Op::Subtract);
}

// Adds up terms with the same factors: polynomials of the same place by themselves, other terms in the profile.
RadialProduct RadialSteps::sum(const RadialProduct& a, const RadialProduct& b, Op op) {
  const RadialProduct other = op == Op::Add ? b : opposite(b);
  if (is_nothing(b)) return a;
  if (is_nothing(a)) return other;
  if (a.degree() != b.degree() && (a.degree() == 2 || b.degree() == 2)) {
    const RadialProduct one = settled(a), two = settled(b);
    if (one.degree() == two.degree()) return sum(one, two, op);
  }
  if (std::optional<RadialProduct> difference = joined(a, other)) return *difference;
  for (const RadialProduct* value : {&a, &b})
    if (value->place == kOne && value->degree() == 0 && value->has_factors() && !same_factors(a, b))
      throw beside(*value);
  RadialProduct both = a;
  if (a.place == b.place && a.degree() == b.degree() && same_factors(a, b)) {
    both.polynomials = a.polynomials + other.polynomials;
    return both;
  }
  const PlacePair places = united(a, b, "it is a sum", &both);
  both.place = new_step(op, {places.one, places.other});
  return both;
}

NotRadial RadialSteps::beside(const RadialProduct& value) const {
  return {sentence(origins_.name_of(value.first_factor().ref), " enters beside the distance, not as a factor")};
}

// Joins a term whose factor is the row x of a difference with the opposite term whose factor is its column y: x f - y f
// becomes (x - y) f, which does not cancel.
std::optional<RadialProduct> RadialSteps::joined(const RadialProduct& a, const RadialProduct& b) const {
  if (a.place != b.place || a.adds_up.has_value() != b.adds_up.has_value()) return {};
  std::optional<Factor> row = one_more(a.rows, b.rows), column = one_more(b.columns, a.columns);
  const bool forth = row && column;
  if (!forth) {
    row = one_more(b.rows, a.rows);
    column = one_more(a.columns, b.columns);
  }
  if (!row || !column || row->divides || column->divides || !is_opposite(a, b)) return {};
  const RadialProduct& of_row = forth ? a : b;
  RadialProduct both{forth ? b.rows : a.rows, forth ? a.columns : b.columns, {}, a.place};
  const std::size_t many = std::max({row->components.size(), column->components.size(), of_row.polynomials.size()});
  for (std::size_t c = 0; c < many; ++c) {
    const Polynomial& times = of_component(of_row.polynomials, c);
    const std::optional<int> found = difference_.find({row->ref, of_component(row->components, c)},
                                                      {column->ref, of_component(column->components, c)});
    if (!found && !times.is_zero()) return {};
    both.polynomials.push_back(found ? times * Polynomial::component(*found, 1) : Polynomial());
  }
  if (a.adds_up) return folded(both, static_cast<int>(many), *a.adds_up);
  return both;
}

// Returns the places in the profile of two terms with the same factors; `both` gets the polynomials times these places.
RadialSteps::PlacePair RadialSteps::united(const RadialProduct& a, const RadialProduct& b, const char* what,
                                           RadialProduct* both) {
  if (!same_factors(a, b) || a.degree() != b.degree())
    throw NotRadial{sentence(what, " of terms with different factors")};
  if (a.degree() == 0 && is_uniform(a) && is_uniform(b)) {
    both->polynomials = {Polynomial::number(1)};
    return {place_of(a), place_of(b)};
  }
  const std::optional<double> times = ratio(b.polynomials, a.polynomials);
  if (!times) throw NotRadial{sentence(what, " of terms whose components have different weights")};
  return {place_of({{}, {}, {Polynomial::number(1)}, a.place}),
          place_of({{}, {}, {Polynomial::number(*times)}, b.place})};
}

// Makes a choice between two terms with the same factors, or between a term and 0.
RadialProduct RadialSteps::choice(const Step& step) {
  const int test = plain(step.in[0], step);
  const RadialProduct a = of(step.in[1]), b = of(step.in[2]);
  RadialProduct both = a.is_zero() ? b : a;
  PlacePair places;
  if (a.is_zero() || b.is_zero()) {
    const int some = both.place == kOne ? new_number(1) : both.place, none = new_number(0);
    places = a.is_zero() ? PlacePair{none, some} : PlacePair{some, none};
  } else {
    places = united(a, b, "it is a choice", &both);
  }
  both.place = new_step(Op::Select, {test, places.one, places.other});
  return both;
}

RadialProduct RadialSteps::under_linear(const Step& step) {
  const std::vector<bool> varies = *origins_.linear(step);
  std::optional<RadialProduct> all;
  for (std::size_t k = step.in.size(); k-- > 0;) {
    if (!varies[k]) continue;
    const RadialProduct one = mapped(origins_.map(step, k), of(step.in[k]), step.op);
    all = all ? sum(one, *all, Op::Add) : one;
  }
  return *all;
}

// Reads a table at a formula of the distance.
RadialProduct RadialSteps::looked_up(const Step& step) {
  const int at = plain(step.in[0], step);
  refuse_longer();
  const int place = profile_->add_look_up(step.op, at, origins_.numbers(step.in[1]), step.attributes[0]);
  return {{}, {}, {Polynomial::number(1)}, place};
}

// Applies an element-wise operation to formulas of the distance.
RadialProduct RadialSteps::plain_step(const Step& step) {
  if (row(step.op).form != Form::elementwise) throw no_function(step.op);
  std::vector<int> in;
  for (const Ref& ref : step.in) in.push_back(plain(ref, step));
  return {{}, {}, {Polynomial::number(1)}, new_step(step.op, in)};
}

// --- the distance ---

// Writes a polynomial of degree 2 as a number times the squared distance. The first such polynomial becomes the squared
// distance: divided by its number if all squares have the same number, negated if no square's number is positive.
RadialProduct RadialSteps::settled(RadialProduct value) {
  value = reduced(std::move(value));
  if (value.is_single() && value.degree() == 2 && square_.is_nothing()) {
    const Polynomial& found = value.polynomials[0];
    const double number = found.terms().begin()->second;
    bool alike = found.is_pure() && number != 0, falls = true;
    for (const auto& [powers, times] : found.terms()) {
      alike = alike && times == number;
      falls = falls && (powers[0] != powers[1] || times <= 0);
    }
    square_.add(found, alike ? 1 / number : falls ? -1 : 1);
  }
  return reduced(std::move(value));
}
RadialProduct RadialSteps::reduced(RadialProduct value) {
  if (!value.is_single() || value.degree() != 2) return value;
  if (!value.polynomials[0].is_finite()) throw NotRadial{kNotFinite};
  // If all components of the value are times 0, the value is the number 0 and tells nothing of the distance.
  if (value.is_zero() && value.place == kOne) value.polynomials = {Polynomial::number(0)};
  if (value.degree() != 2 || square_.is_nothing()) return value;
  const std::optional<double> times = ratio(value.polynomials, {square_});
  if (!times) return value;
  value.polynomials = {Polynomial::number(*times)};
  value.place = value.place == kOne ? 0 : new_step(Op::Mult, {value.place, 0});
  return value;
}

// --- the profile ---

int RadialSteps::new_number(double number) {
  if (const auto known = numbers_.find(number); known != numbers_.end()) return known->second;
  refuse_longer();
  const int place = profile_->add_number(number);
  if (number == number) numbers_[number] = place;
  return place;
}
int RadialSteps::new_step(Op op, const std::vector<int>& in) {
  if (const auto known = steps_.find({op, in}); known != steps_.end()) return known->second;
  refuse_longer();
  return steps_[{op, in}] = profile_->add_step(op, in);
}
// Returns the place of the product of two places, each of which may be kOne.
int RadialSteps::times(int a, int b) { return a == kOne ? b : b == kOne ? a : new_step(Op::Mult, {a, b}); }
void RadialSteps::refuse_longer() const {
  if (profile_->full() || depth_ > Profile::kMostPlaces) throw NotRadial{"it is too long"};
}

int RadialSteps::place_of(const RadialProduct& value) {
  if (value.degree() > 0) throw NotRadial{kSeveral};
  const double number = value.polynomials[0].coefficient({});
  if (value.place == kOne) return new_number(number);
  if (number == -1) return new_step(Op::Minus, {value.place});
  return number == 1 ? value.place : new_step(Op::Mult, {new_number(number), value.place});
}
int RadialSteps::plain(const Ref& ref, const Step& by) {
  const RadialProduct value = settled(of(ref));
  if (value.adds_up) throw no_function(*value.adds_up);
  if (value.has_factors()) throw beside(value);
  if (value.degree() == 2 && value.is_single()) throw NotRadial{kSeveral};
  if (value.degree() > 0) throw no_function(by.op);
  if (!is_uniform(value)) throw NotRadial{"it has several components"};
  return place_of(value);
}

}  // namespace distance
}  // namespace kernweave
