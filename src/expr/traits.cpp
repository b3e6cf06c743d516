// Finds traits by trying numbers that no accident of rounding or sign makes alike.
#include "expr/on_lane.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace kernweave {
namespace {

bool takes_numbers(const OpRow& op) { return op.form == Form::elementwise || op.form == Form::fold; }
bool alike(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Returns the value; for a fold, its result after one step.
Lane term_of(const OpRow& op, const Lane* in) { return op.form == Form::fold ? op.next(op.start(), in) : op.value(in); }

// Tells whether f(x, y) = f(y, x). A fold is also tried on two steps, in which the earlier result counts.
bool commutes(const OpRow& op) {
  if (op.arity != 2 || !takes_numbers(op)) return false;
  const double nan = -std::log(-1.0);
  const double tries[][2] = {{1.25, -3.5}, {-0.75, 2.0}, {0.5, 4.0}, {0.0, 7.0}, {-0.0, -2.5}, {nan, 1.0}};
  Lane acc_forth = op.form == Form::fold ? op.start() : Lane(0.0), acc_back = acc_forth;
  for (const auto& pair : tries) {
    const Lane forth[] = {Lane(pair[0]), Lane(pair[1])};
    const Lane back[] = {Lane(pair[1]), Lane(pair[0])};
    acc_forth = op.form == Form::fold ? op.next(acc_forth, forth) : op.value(forth);
    acc_back = op.form == Form::fold ? op.next(acc_back, back) : op.value(back);
    if (!alike(acc_forth.v, acc_back.v)) return false;
  }
  return true;
}

// Tells whether f(x + c, y + c) = f(x, y), by numbers that are moved without rounding.
bool takes_differences(const OpRow& op) {
  if (op.arity != 2 || !takes_numbers(op)) return false;
  const double tries[][3] = {{1.25, -3.5, 8}, {-0.75, 2.0, -16}, {0.5, 0.5, 4}, {3.0, 7.0, 0.25}};
  for (const auto& t : tries) {
    const Lane here[] = {Lane(t[0]), Lane(t[1])}, there[] = {Lane(t[0] + t[2]), Lane(t[1] + t[2])};
    if (!(term_of(op, here) == term_of(op, there))) return false;
  }
  return true;
}

// Returns the value; for a fold, its result after two steps.
Lane tried(const OpRow& op, const Lane* in) {
  return op.form == Form::fold ? op.next(op.next(op.start(), in), in) : op.value(in);
}

enum class Domain { any, not_negative, same };

// Tells whether the value is never negative, nor -0. The numbers tried are so close together that no function is
// negative between two of them alone.
bool is_not_negative_of(Domain arguments, const OpRow& op) {
  if (!takes_numbers(op) || (arguments == Domain::same && op.arity != 2)) return false;
  std::vector<double> tries = {0};
  for (double size :
       {1e-300, 1e-20, 0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 30.0, 1e10, HUGE_VAL})
    tries.push_back(size);
  if (arguments != Domain::not_negative)
    for (std::size_t k = tries.size(); k-- > 0;) tries.push_back(-tries[k]);
  const std::size_t n = tries.size();
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < (op.arity > 1 ? n : 1); ++b)
      for (std::size_t c = 0; c < (op.arity > 2 ? n : 1); ++c) {
        const Lane in[] = {Lane(tries[a]), Lane(tries[arguments == Domain::same ? a : b]), Lane(tries[c])};
        if (std::signbit(tried(op, in).v) && !is_nan(tried(op, in))) return false;
      }
  return true;
}

// Tells whether a fold adds its terms to the value before.
bool adds_up(const OpRow& op) {
  if (op.form != Form::fold || op.start().v != 0) return false;
  const Lane in[] = {Lane(2.0), Lane(7.0)};
  const double term = term_of(op, in).v;
  return op.next(Lane(-3.0), in).v == term - 3 && op.next(Lane(5.0), in).v == term + 5;
}

// Computes the product that a power law states, at 0 as well.
double product_of(const PowerLaw& law, const Lane* in) {
  double product = law.number;
  for (std::size_t k = 0; k < law.powers.size(); ++k) {
    const auto [power, turns] = law.powers[k];
    product *= std::pow(std::abs(in[k].v), power);
    if (turns && in[k].v < 0) product = -product;
    if (turns && in[k].v == 0 && power == 0) product = 0;
  }
  return product;
}

bool holds(const PowerLaw& law, const OpRow& op) {
  constexpr double tries[] = {-3, -0.5, 0, 1.5, 4};
  for (int code = 0; code < 125; ++code) {
    Lane in[] = {Lane(0.0), Lane(0.0), Lane(0.0)};
    int rest = code;
    for (std::size_t k = 0; k < law.powers.size(); ++k, rest /= 5) in[k] = Lane(tries[rest % 5]);
    const double value = term_of(op, in).v, wanted = product_of(law, in);
    if (!alike(value, wanted) && !(std::abs(value - wanted) <= 1e-15 * std::abs(wanted))) return false;
  }
  return true;
}

// Finds a power law: doubling an argument shows the power, turning its sign shows the sign.
PowerLaw power_law(const OpRow& op) {
  if (!takes_numbers(op) || (op.form == Form::fold && !op.adds_up)) return {};
  const int count = op.differences ? 1 : op.arity;
  Lane in[] = {Lane(0.0), Lane(0.0), Lane(0.0)};
  std::fill(in, in + count, Lane(1.0));
  PowerLaw law{term_of(op, in).v, {}};
  for (Lane* one = in; one != in + count; ++one) {
    const auto times = [&](double number) {
      *one = Lane(number);
      return term_of(op, in).v / law.number;
    };
    const int power = std::ilogb(times(2));
    law.powers.push_back({power, times(-1) < 0});
    *one = Lane(1.0);
  }
  return std::isnormal(law.number) && holds(law, op) ? law : PowerLaw();
}

// Returns log f(1) if f(a + b) = f(a) f(b), tried on numbers that are not negative; else 0.
double log_base(const OpRow& op) {
  if (op.form != Form::elementwise || op.arity != 1) return 0;
  const auto value = [&](double x) {
    const Lane in(x);
    return op.value(&in).v;
  };
  for (const auto& [a, b] : {std::pair{0.5, 1.25}, {2.0, 3.0}, {0.0, 1.5}, {0.25, 4.0}})
    if (!(std::abs(value(a + b) - value(a) * value(b)) <= 1e-14 * value(a + b))) return 0;
  return std::log(value(1));
}

}  // namespace

void find_traits(OpRow* row) {
  OpRow& r = *row;
  r.commutes = commutes(r);
  r.differences = takes_differences(r);
  r.not_negative = is_not_negative_of(Domain::any, r);
  r.not_negative_of_such = r.not_negative || is_not_negative_of(Domain::not_negative, r);
  r.not_negative_of_same = r.not_negative || is_not_negative_of(Domain::same, r);
  r.adds_up = adds_up(r);
  r.law = power_law(r);
  r.log_base = log_base(r);
}

std::optional<std::vector<bool>> linear_arguments(Op op, const std::vector<bool>& fixed) {
  const std::vector<std::string>& reads = row(op).adjoint_reads;
  const auto does_read = [&](std::size_t k, std::size_t argument) {
    return reads[k].find("xyz"[argument]) != std::string::npos;
  };
  std::vector<bool> linear(reads.size(), true);
  for (std::size_t k = 0; k < reads.size(); ++k)
    for (std::size_t a = 0; a < reads.size(); ++a)
      if (!fixed[k] && does_read(k, a)) linear[a] = false;
  for (std::size_t k = 0; k < reads.size(); ++k) {
    if (!linear[k] && !fixed[k]) return {};
    if (linear[k] && reads[k].find('r') != std::string::npos) return {};
    for (std::size_t a = 0; a < reads.size(); ++a)
      if (linear[k] && linear[a] && does_read(k, a)) return {};
  }
  if (reads.empty()) return {};
  return linear;
}

}  // namespace kernweave
