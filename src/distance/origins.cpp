// Finds the origins of values: numbers of parameters; sums of data by the linear maps of steps; products of data by the
// operations that make them.
#include "distance/origins.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "expr/on_lane.hpp"

namespace kernweave {
namespace distance {
namespace {

// Tells whether operands have the same numbers: operands of one matrix share its numbers, or have copies of integers.
bool have_same_numbers(const View& a, const View& b) {
  if (a.data == b.data) return true;
  return !a.sparse() && !b.sparse() && a.rows == b.rows && a.columns == b.columns &&
         std::equal(a.data, a.data + a.rows * a.columns, b.data);
}

}  // namespace

Origins::Depends Origins::depends(const Ref& ref) const {
  if (ref.from == Ref::From::number) return Depends::param;
  if (ref.from == Ref::From::variable) {
    switch (plan_.variables[static_cast<std::size_t>(ref.index)].axis) {
      case Axis::i: return Depends::row;
      case Axis::j: return Depends::column;
      case Axis::param: return Depends::param;
      default: return Depends::pair;
    }
  }
  switch (program_.slots[static_cast<std::size_t>(ref.index)].region) {
    case Region::param: return Depends::param;
    case Region::row: return Depends::row;
    case Region::column: return Depends::column;
    default: return Depends::pair;
  }
}
bool Origins::on_one_side(const Ref& ref) const {
  return depends(ref) == Depends::row || depends(ref) == Depends::column;
}

std::string Origins::name_of(const Ref& ref) const {
  const auto name = [&](const Ref& of) { return plan_.variables[static_cast<std::size_t>(of.index)].name; };
  if (ref.from == Ref::From::variable) return sentence("`", name(ref), "`");
  std::set<std::string> names;
  std::set<int> met;
  std::vector<Ref> left{ref};
  while (!left.empty()) {
    const Ref next = left.back();
    left.pop_back();
    if (is_slot(next) && !met.insert(next.index).second) continue;
    if (next.from == Ref::From::variable) names.insert(name(next));
    if (const Step* const step = program_.maker(next)) left.insert(left.end(), step->in.begin(), step->in.end());
  }
  std::string all;
  for (const std::string& one : names) all += (all.empty() ? "`" : ", `") + one + "`";
  return "a formula of " + all;
}

// Returns the first operand that has the same numbers.
Ref Origins::first_known(const Ref& ref) const {
  if (ref.from != Ref::From::variable) return ref;
  const auto axis = [&](int variable) { return plan_.variables[static_cast<std::size_t>(variable)].axis; };
  const auto data = [&](int variable) -> const View& { return data_[static_cast<std::size_t>(variable)]; };
  Ref first = ref;
  for (first.index = 0; first.index < ref.index; ++first.index) {
    const bool as_wide = plan_.variables[static_cast<std::size_t>(first.index)].width == ref.width;
    const bool on_its_axis = axis(first.index) == axis(ref.index);
    if (as_wide && on_its_axis && have_same_numbers(data(first.index), data(ref.index))) break;
  }
  return first;
}

std::vector<double> Origins::numbers(const Ref& ref) const {
  std::vector<double> out(static_cast<std::size_t>(ref.width));
  for (int d = 0; d < ref.width; ++d) out[static_cast<std::size_t>(d)] = evaluator_.read(ref)[d].v;
  return out;
}

// --- sums of data ---

// Returns nothing if a map would take too much work to find.
std::optional<std::vector<bool>> Origins::linear(const Step& step) const {
  constexpr double kMostWork = 1e8;
  std::vector<bool> fixed;
  double widths = step.width;
  for (const Ref& ref : step.in) {
    fixed.push_back(depends(ref) == Depends::param);
    widths += ref.width;
  }
  if (row(step.op).form == Form::loop && widths * widths > kMostWork) return {};
  return linear_arguments(step.op, fixed);
}
LinearMap Origins::map(const Step& step, std::size_t argument) const {
  std::vector<std::vector<double>> fixed(step.in.size());
  const std::optional<std::vector<bool>> varies = linear(step);
  for (std::size_t k = 0; k < fixed.size(); ++k)
    if (!(*varies)[k]) fixed[k] = numbers(step.in[k]);
  return map_of(step, argument, fixed);
}

std::optional<Combinations> Origins::combination(const Ref& ref, int depth) {
  if (depends(ref) == Depends::param) {
    Combinations out;
    for (const double number : numbers(ref)) out.push_back({{}, {}, number});
    return out;
  }
  const Step* const step = program_.maker(ref);
  if (step && combinations_.count(ref.index)) return combinations_[ref.index];
  constexpr int kDeepest = 100;
  std::optional<Combinations> out = step && depth < kDeepest ? combination_of(*step, depth) : std::nullopt;
  if (!out && on_one_side(ref)) {
    out.emplace(static_cast<std::size_t>(ref.width));
    for (int d = 0; d < ref.width; ++d) {
      Combination& one = (*out)[static_cast<std::size_t>(d)];
      (depends(ref) == Depends::row ? one.rows : one.columns).emplace(Atom{first_known(ref), d}, 1.0);
    }
  }
  if (step) combinations_[ref.index] = out;
  return out;
}
std::optional<Combinations> Origins::combination_of(const Step& step, int depth) {
  constexpr std::size_t kMost = 100000;
  const std::optional<std::vector<bool>> varies = linear(step);
  if (!varies) return {};
  Combinations out(static_cast<std::size_t>(step.width));
  for (std::size_t k = 0; k < step.in.size(); ++k) {
    if (!(*varies)[k]) continue;
    const std::optional<Combinations> of_one = combination(step.in[k], depth + 1);
    if (!of_one) return {};
    const Combinations seen = mapped(map(step, k), *of_one);
    for (std::size_t c = 0; c < out.size(); ++c) out[c].add(seen[c], 1);
  }
  std::size_t all = 0;
  for (const Combination& one : out) all += one.rows.size() + one.columns.size();
  return all > kMost ? std::nullopt : std::optional<Combinations>(std::move(out));
}

// --- products of data ---

// Returns a product of data; a product of too many factors counts as one factor.
RadialProduct Origins::factors(const Ref& ref, int depth) {
  constexpr int kDeepest = 32;
  constexpr std::size_t kMostFactors = 8;
  if (depends(ref) == Depends::param) return constant_product(numbers(ref));
  const Step* const step = program_.maker(ref);
  if (step && factors_.count(ref.index)) return factors_[ref.index];
  RadialProduct found = step && depth < kDeepest ? factors_of(*step, depth) : RadialProduct();
  if (!found.has_factors() || found.rows.size() + found.columns.size() > kMostFactors) {
    Factor own{first_known(ref), false, std::vector<int>(static_cast<std::size_t>(ref.width))};
    std::iota(own.components.begin(), own.components.end(), 0);
    found = depends(ref) == Depends::row ? RadialProduct{{own}, {}} : RadialProduct{{}, {own}};
  }
  if (step) factors_[ref.index] = found;
  return found;
}
// Returns a product without factors if the operation makes no product.
RadialProduct Origins::factors_of(const Step& step, int depth) {
  const OpRow& r = row(step.op);
  if (r.multiplies()) {
    RadialProduct all = constant_product({r.law.number});
    for (std::size_t k = 0; k < step.in.size(); ++k) {
      const auto [power, turns] = r.law.powers[k];
      const RadialProduct one = factors(step.in[k], depth + 1);
      for (int times = 0; times < std::abs(power); ++times) all = product(all, power < 0 ? inverse(one) : one);
    }
    return all;
  }
  if (r.form != Form::loop || step.in.size() != 1 || !linear(step)) return {};
  const LinearMap one = map(step, 0);
  return chooses(one) ? mapped(one, factors(step.in[0], depth + 1), step.op) : RadialProduct();
}

// --- difference -----------------------------------------------------------------------------------------------------
// Finds the difference of points in a formula's values. A common factor stays outside: x s - y s = s (x - y).

namespace {

Combination plain(const Atom& row, const Atom& column) { return {{{row, 1.0}}, {{column, -1.0}}, 0}; }

Combination divided(Combination m, double by) {
  for (auto* side : {&m.rows, &m.columns})
    for (auto& [atom, number] : *side) number /= by;
  m.constant /= by;
  return m;
}

// The atoms in the order in which components meet them.
struct AtomOrder {
  std::map<Atom, int> places;
  std::vector<Atom> atoms;

  void meet(const std::map<Atom, double>& side) {
    for (const auto& [atom, number] : side)
      if (places.emplace(atom, static_cast<int>(atoms.size())).second) atoms.push_back(atom);
  }
};

}  // namespace

void Combination::add(const Combination& other, double times) {
  for (const auto& [atom, number] : other.rows) rows[atom] += times * number;
  for (const auto& [atom, number] : other.columns) columns[atom] += times * number;
  constant += times * other.constant;
}

std::optional<Polynomials> PointDifference::of(const Combinations& value) {
  for (const Combination& m : value) {
    const bool nothing = m.rows.empty() && m.columns.empty() && m.constant == 0;
    if (!nothing && (m.rows.empty() || m.columns.empty())) return {};
  }
  if (std::optional<Polynomials> same = of_same_on_both(value)) return same;
  Polynomials out;
  for (const Combination& m : value) {
    if (m.rows.empty()) {
      out.emplace_back();
      continue;
    }
    const double number = m.rows.begin()->second;
    if (number == 0) return {};
    out.push_back(Polynomial::component(add(divided(m, number)), number));
  }
  return out;
}

// Finds a difference if each row atom has a column atom with the opposite coefficient in every component. Returns
// nothing if it would have more components than the value, since some of them would not count.
std::optional<Polynomials> PointDifference::of_same_on_both(const Combinations& value) {
  AtomOrder rows, columns;
  for (const Combination& m : value) {
    rows.meet(m.rows);
    columns.meet(m.columns);
    if (m.constant != 0 || m.rows.size() != m.columns.size()) return {};
  }
  const std::size_t many = rows.atoms.size();
  if (many != columns.atoms.size()) return {};
  for (const Combination& m : value)
    for (const auto& [atom, number] : m.rows) {
      const auto other = m.columns.find(columns.atoms[static_cast<std::size_t>(rows.places[atom])]);
      if (other == m.columns.end() || other->second != -number) return {};
    }
  std::vector<std::optional<int>> known(many);
  for (std::size_t k = 0; k < many; ++k) known[k] = find(rows.atoms[k], columns.atoms[k]);
  const bool all_known = std::all_of(known.begin(), known.end(), [](const auto& k) { return k.has_value(); });
  if (many > value.size() && !all_known) return {};
  for (std::size_t k = 0; k < many; ++k)
    if (!known[k]) known[k] = add(plain(rows.atoms[k], columns.atoms[k]));
  Polynomials out(value.size());
  for (std::size_t c = 0; c < value.size(); ++c)
    for (const auto& [atom, number] : value[c].rows)
      out[c].add(Polynomial::component(*known[static_cast<std::size_t>(rows.places[atom])], number), 1);
  return out;
}

std::optional<int> PointDifference::find(const Atom& row, const Atom& column) const { return find(plain(row, column)); }

std::optional<int> PointDifference::find(const Combination& component) const {
  const auto among = by_row_.equal_range(component.rows.begin()->first);
  for (auto at = among.first; at != among.second; ++at) {
    const Combination& known = components_[static_cast<std::size_t>(at->second)];
    if (known.rows == component.rows && known.columns == component.columns && known.constant == component.constant)
      return at->second;
  }
  return {};
}

int PointDifference::add(const Combination& component) {
  if (const std::optional<int> known = find(component)) return *known;
  const int place = static_cast<int>(components_.size());
  components_.push_back(component);
  by_row_.emplace(component.rows.begin()->first, place);
  return place;
}

}  // namespace distance
}  // namespace kernweave
