// Products and quotients unite factors, sums need terms with the same ones, and everything else has none within. What
// is a formula of a polynomial of degree 2 makes that the squared distance.
#include "far/parts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"

namespace kernweave {
namespace far {
namespace {

constexpr const char* kSeveral = "it has several distances; of a sum, each part may have its own approximation";

bool is_uniform(const Part& part) { return part.is_single() || ratio(part.value, {Polynomial::number(1)}); }
bool is_opposite(const Part& a, const Part& b) {
  constexpr double kRounding = 1e-12;
  const std::optional<double> times = ratio(a.value, b.value);
  return times && std::abs(*times + 1) <= kRounding;
}

}  // namespace

// --- products ---

Part Parts::of(const Ref& ref) {
  switch (values_.depends(ref)) {
    case Values::Depends::param: return number_part(values_.numbers(ref));
    case Values::Depends::row:
    case Values::Depends::column: return values_.factors(ref);
    case Values::Depends::pair: break;
  }
  const Step* const step = values_.maker(ref);
  if (!step) throw Refused{sentence(values_.name_of(ref), " enters beside the distance")};
  const auto known = known_.find(ref.index);
  if (known != known_.end()) return reduced(known->second);
  ++depth_;
  refuse_longer();
  const std::optional<Mixtures> data = values_.mixture(ref);
  std::optional<Polynomials> difference = data ? difference_.of(*data) : std::nullopt;
  const Part part = reduced(difference ? Part{{}, {}, std::move(*difference)} : of_step(*step));
  --depth_;
  known_[ref.index] = part;
  return part;
}

Part Parts::of_step(const Step& step) {
  switch (step.op) {
    case Op::Add: return sum(of(step.in[0]), of(step.in[1]), step.op);
    case Op::Subtract: return less(step.in[0], step.in[1], step.width);
    case Op::Mult: return product_of(of(step.in[0]), of(step.in[1]));
    case Op::Inv:
    case Op::Divide: return quotient(step);
    case Op::Square: {
      const Part one = of(step.in[0]);
      return product_of(one, one);
    }
    case Op::Abs:
    case Op::Sign: return size_or_sign(step);
    case Op::SqDist: {
      const Part one = less(step.in[0], step.in[1], fold_width(step));
      return folded(product_of(one, one), fold_width(step), step.op);
    }
    case Op::Sum: return folded(of(step.in[0]), fold_width(step), step.op);
    case Op::Scalprod:
      return folded(product_of(of(step.in[0]), of(step.in[1])), fold_width(step), step.op);
    case Op::TensorProd: {
      const int wide = step.in[0].width;
      return product_of(spread(of(step.in[0]), step.width, [&](int c) { return c % wide; }),
                        spread(of(step.in[1]), step.width, [&](int c) { return c / wide; }));
    }
    case Op::Select: return choice(step);
    default: return values_.linear(step) ? under_linear(step) : plain_step(step);
  }
}

Part Parts::product_of(Part a, Part b) {
  if (a.degree() + b.degree() > 2) {
    a = settled(std::move(a));
    b = settled(std::move(b));
  }
  Part both = product(a, b);
  both.place = times(a.place, b.place);
  return both;
}

Part Parts::quotient(const Step& step) {
  const bool inverts = step.op == Op::Inv;
  const Part a = inverts ? Part() : of(step.in[0]), b = settled(of(step.in[inverts ? 0 : 1]));
  if (b.degree() > 0) throw no_function(step.op);
  Part both = product(a, inverse(b));
  both.place = b.place == Part::kOne ? a.place
                                     : new_step(Op::Divide, {a.place == Part::kOne ? new_number(1) : a.place, b.place});
  return both;
}

// Of a difference of one component: the root of its square, and what it is times the inverse of that.
Part Parts::size_or_sign(const Step& step) {
  const Part one = settled(of(step.in[0]));
  const bool narrow = one.degree() == 1 && one.is_single() && one.place == Part::kOne;
  if (!narrow || one.has_factors()) return plain_step(step);
  const int root = new_step(Op::Sqrt, {place_of(settled(product(one, one)))});
  if (step.op == Op::Abs) return {{}, {}, {Polynomial::number(1)}, root};
  return {{}, {}, one.value, new_step(Op::Divide, {new_number(1), root})};
}

// Of two values, which may stand on one side each.
Part Parts::less(const Ref& a, const Ref& b, int width) {
  const std::optional<Mixtures> one = values_.mixture(a), other = values_.mixture(b);
  if (one && other) {
    Mixtures both(static_cast<std::size_t>(width));
    for (std::size_t c = 0; c < both.size(); ++c) {
      both[c].add(of_component(*one, c), 1);
      both[c].add(of_component(*other, c), -1);
    }
    if (std::optional<Polynomials> found = difference_.of(both)) return {{}, {}, std::move(*found)};
  }
  return sum(of(a), of(b), Op::Subtract);
}

// Of terms with the same factors one place, and so of two numbers.
Part Parts::sum(const Part& a, const Part& b, Op op) {
  const Part other = op == Op::Add ? b : opposite(b);
  if (b.is_zero()) return a;
  if (a.is_zero()) return other;
  if (a.degree() != b.degree() && (a.degree() == 2 || b.degree() == 2)) {
    const Part one = settled(a), two = settled(b);
    if (one.degree() == two.degree()) return sum(one, two, op);
  }
  if (std::optional<Part> difference = joined(a, other)) return *difference;
  for (const Part* part : {&a, &b})
    if (part->place == Part::kOne && part->degree() == 0 && part->has_factors() && !same_factors(a, b))
      throw beside(*part);
  Part both = a;
  if (a.place == b.place && a.degree() == b.degree() && same_factors(a, b)) {
    both.value = a.value + other.value;
    return both;
  }
  const Places places = united(a, b, "it is a sum", &both);
  both.place = new_step(op, {places.one, places.other});
  return both;
}

Refused Parts::beside(const Part& part) const {
  return {sentence(values_.name_of(part.first_factor().ref), " enters beside the distance, not as a factor")};
}

// Of a term with a factor that is the row of a difference, and the opposite term with the column of it.
std::optional<Part> Parts::joined(const Part& a, const Part& b) const {
  if (a.place != b.place || a.adds_up.has_value() != b.adds_up.has_value()) return {};
  std::optional<Factor> row = one_more(a.rows, b.rows), column = one_more(b.columns, a.columns);
  const bool forth = row && column;
  if (!forth) {
    row = one_more(b.rows, a.rows);
    column = one_more(a.columns, b.columns);
  }
  if (!row || !column || row->divides || column->divides || !is_opposite(a, b)) return {};
  const Part& of_row = forth ? a : b;
  Part both{forth ? b.rows : a.rows, forth ? a.columns : b.columns, {}, a.place};
  const std::size_t many = std::max({row->components.size(), column->components.size(), of_row.value.size()});
  for (std::size_t c = 0; c < many; ++c) {
    const Polynomial& times = of_component(of_row.value, c);
    const std::optional<int> found = difference_.find({row->ref, of_component(row->components, c)},
                                                      {column->ref, of_component(column->components, c)});
    if (!found && !times.is_zero()) return {};
    both.value.push_back(found ? times * Polynomial::component(*found, 1) : Polynomial());
  }
  if (a.adds_up) return folded(both, static_cast<int>(many), *a.adds_up);
  return both;
}

// Two terms with the same factors, as places of the profile beside these.
Parts::Places Parts::united(const Part& a, const Part& b, const char* what, Part* both) {
  if (!same_factors(a, b) || a.degree() != b.degree())
    throw Refused{sentence(what, " of terms with different factors")};
  if (a.degree() == 0 && is_uniform(a) && is_uniform(b)) {
    both->value = {Polynomial::number(1)};
    return {place_of(a), place_of(b)};
  }
  const std::optional<double> times = ratio(b.value, a.value);
  if (!times) throw Refused{sentence(what, " of terms whose components have different weights")};
  return {place_of({{}, {}, {Polynomial::number(1)}, a.place}),
          place_of({{}, {}, {Polynomial::number(*times)}, b.place})};
}

// One of two terms with the same factors, or of one and nothing.
Part Parts::choice(const Step& step) {
  const int test = plain(step.in[0], step);
  const Part a = of(step.in[1]), b = of(step.in[2]);
  Part both = a.is_zero() ? b : a;
  Places places;
  if (a.is_zero() || b.is_zero()) {
    const int some = both.place == Part::kOne ? new_number(1) : both.place, none = new_number(0);
    places = a.is_zero() ? Places{none, some} : Places{some, none};
  } else {
    places = united(a, b, "it is a choice", &both);
  }
  both.place = new_step(Op::Select, {test, places.one, places.other});
  return both;
}

// A linear operation on components.
Part Parts::under_linear(const Step& step) {
  const std::vector<bool> varies = *values_.linear(step);
  std::optional<Part> all;
  for (std::size_t k = 0; k < step.in.size(); ++k) {
    if (!varies[k]) continue;
    const Part one = under_image(of(step.in[k]), values_.image(step, k), step.op);
    all = all ? sum(*all, one, Op::Add) : one;
  }
  return *all;
}

// An operation, element by element, of formulas of the distance.
Part Parts::plain_step(const Step& step) {
  if (row(step.op).form != Form::elementwise) throw no_function(step.op);
  std::vector<int> in;
  for (const Ref& ref : step.in) in.push_back(plain(ref, step));
  return {{}, {}, {Polynomial::number(1)}, new_step(step.op, in)};
}

// --- the distance ---

// A polynomial of degree 2 as a number times the squared distance, which it becomes if none is known. One that knows
// all components alike knows them once.
Part Parts::settled(Part part) {
  if (part.is_single() && part.degree() == 2 && square_.is_nothing()) {
    const Polynomial& found = part.value[0];
    const double number = found.terms().begin()->second;
    bool alike = found.is_pure() && number != 0, falls = true;
    for (const auto& [powers, times] : found.terms()) {
      alike = alike && times == number;
      falls = falls && (powers[0] != powers[1] || times <= 0);
    }
    square_.add(found, alike ? 1 / number : falls ? -1 : 1);
  }
  return reduced(std::move(part));
}
Part Parts::reduced(Part part) {
  if (!part.is_single() || part.degree() != 2 || square_.is_nothing()) return part;
  const std::optional<double> times = ratio(part.value, {square_});
  if (!times) return part;
  part.value = {Polynomial::number(*times)};
  part.place = part.place == Part::kOne ? 0 : new_step(Op::Mult, {part.place, 0});
  return part;
}

// --- the profile ---

int Parts::new_number(double number) {
  if (const auto known = numbers_.find(number); known != numbers_.end()) return known->second;
  refuse_longer();
  const int place = profile_->add_number(number);
  if (number == number) numbers_[number] = place;
  return place;
}
int Parts::new_step(Op op, const std::vector<int>& in) {
  if (const auto known = steps_.find({op, in}); known != steps_.end()) return known->second;
  refuse_longer();
  return steps_[{op, in}] = profile_->add_step(op, in);
}
// The place of a product of two, either of which may be 1.
int Parts::times(int a, int b) { return a == Part::kOne ? b : b == Part::kOne ? a : new_step(Op::Mult, {a, b}); }
void Parts::refuse_longer() const {
  if (profile_->full() || depth_ > Profile::kMostPlaces) throw Refused{"it is too long"};
}

int Parts::place_of(const Part& part) {
  if (part.degree() > 0) throw Refused{kSeveral};
  const double number = part.value[0].coefficient({});
  if (part.place == Part::kOne) return new_number(number);
  if (number == -1) return new_step(Op::Minus, {part.place});
  return number == 1 ? part.place : new_step(Op::Mult, {new_number(number), part.place});
}
int Parts::plain(const Ref& ref, const Step& by) {
  const Part part = settled(of(ref));
  if (part.adds_up) throw no_function(*part.adds_up);
  if (part.has_factors()) throw beside(part);
  if (part.degree() == 2 && part.is_single()) throw Refused{kSeveral};
  if (part.degree() > 0) throw no_function(by.op);
  if (!is_uniform(part)) throw Refused{"it has several components"};
  return place_of(part);
}

}  // namespace far
}  // namespace kernweave
