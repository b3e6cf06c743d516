// Exponents are looked for as the rewriting leaves them: to base 2, the coefficient before the distance.
#include "plan/scale.hpp"

#include <unordered_map>

#include "expr/build.hpp"
#include "expr/centre.hpp"

namespace kernweave {
namespace {

using Users = std::unordered_map<const Node*, int>;

// The opposite of an exponent: coefficient times a squared distance, or times its root.
struct Exponent {
  Expr coefficient, distance;
  bool rooted;
};

bool read_once(Expr f, const Users& users) { return users.at(f.get()) == 1; }

// Tells whether f is a distance that is read once. Other readers of its points, as a gradient's differences, go on
// reading the points as they are.
bool is_distance(Expr f, const Users& users) { return is_distance_across(f) && read_once(f, users); }

bool find_exponent(Expr power, const Users& users, Exponent* found) {
  if (power->op != Op::Exp2 && power->op != Op::Exp2Minus) return false;
  const Expr product = power.arg(0);
  if (product->op != Op::Mult || !read_once(product, users)) return false;
  for (std::size_t k = 0; k < 2; ++k) {
    const Expr c = product.arg(k), other = product.arg(1 - k);
    const bool rooted = other->op == Op::Sqrt && read_once(other, users);
    const Expr distance = rooted ? other.arg(0) : other;
    if (!is_parameter(c) || width(c) != 1 || !is_distance(distance, users)) continue;
    *found = {power->op == Op::Exp2 ? -c : c, distance, rooted};
    return true;
  }
  return false;
}

// Scaled points are rounded once more than points are. The error of a term grows with its exponent, which is at most
// what the guard bounds; tests/testthat/test-scale.R holds it at the edge.
double most_of(const Precision& precision) {
  return precision.compute == Format::float64 ? 1e-13 / 0x1p-53 : 5e-6 / 0x1p-24;
}

Expr scaled(const Exponent& e, const Precision& precision, std::vector<ConditionGuard>* guards) {
  const ScaledPoints a = side_of(e.distance.arg(0)), b = side_of(e.distance.arg(1));
  const int centre = common_centre(a.reading, b.reading);
  const Expr c = e.coefficient, s = e.rooted ? c : sqrt(c), by = a.scale ? s * a.scale : s;
  const Expr of_reach = e.rooted ? c * abs(c) : c;
  const Expr x = centred(a.reading, centre), y = centred(b.reading, centre);
  guards->push_back(
      {variable_read(x), variable_read(y), a.scale ? of_reach * square(a.scale) : of_reach, 0, most_of(precision)});
  const Expr distance = sqdist(by * x, by * y);
  return exp2_minus(e.rooted ? sqrt(distance) : distance);
}

}  // namespace

bool scale_points(const Precision& precision, std::vector<OutputFormula>* outputs,
                  std::vector<ConditionGuard>* guards) {
  const std::vector<Expr> formulas = formulas_of(*outputs);
  Users users;
  for (Expr f : formulas) ++users[f.get()];
  for (Expr f : reachable(formulas))
    for (const Node* arg : f->args) ++users[arg];
  const std::vector<Expr> made = rebuild(formulas, [&](Expr f, const std::vector<Expr>& args) {
    Exponent found;
    return find_exponent(f, users, &found) ? scaled(found, precision, guards) : remade(f, args);
  });
  if (guards->empty()) return false;
  put_formulas(made, outputs);
  return true;
}

}  // namespace kernweave
