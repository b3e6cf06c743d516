// Exponents are looked for as the rewriting leaves them: to base 2, the coefficient before the distance.
#include "plan/scale.hpp"

#include <unordered_map>

#include "expr/build.hpp"
#include "expr/centre.hpp"

namespace kernweave {
namespace {

// Who reads a formula: how often, and the differences of two points that something reads beside their distance.
class Users {
 public:
  explicit Users(const std::vector<Expr>& formulas) {
    for (Expr f : formulas) ++reads_[f.get()];
    for (Expr f : reachable(formulas)) {
      for (const Node* arg : f->args) ++reads_[arg];
      if (f->op == Op::Subtract) differences_.push_back(f);
    }
  }
  bool read_once(Expr f) const { return reads_.at(f.get()) == 1; }
  std::vector<Expr> differences_of(Expr x, Expr y) const {
    std::vector<Expr> found;
    for (Expr f : differences_)
      if ((f.arg(0) == x && f.arg(1) == y) || (f.arg(0) == y && f.arg(1) == x)) found.push_back(f);
    return found;
  }
  // Nothing else reads the distance, and its points only differences of the two.
  bool are_alone(Expr distance) const {
    if (!is_distance_across(distance) || !read_once(distance)) return false;
    const Expr x = distance.arg(0), y = distance.arg(1);
    const int reads = 1 + static_cast<int>(differences_of(x, y).size());
    const auto alone = [&](Expr f) {
      const Expr reading = side_of(f).reading;
      return reads_.at(f.get()) == reads && (reading == f || read_once(reading));
    };
    return alone(x) && alone(y);
  }

 private:
  std::unordered_map<const Node*, int> reads_;
  std::vector<Expr> differences_;
};

// The opposite of an exponent: coefficient times a squared distance, or times its root.
struct Exponent {
  Expr coefficient, distance;
  bool rooted;
};

bool find_exponent(Expr power, const Users& users, Exponent* found) {
  if (power->op != Op::Exp2 && power->op != Op::Exp2Minus) return false;
  const Expr product = power.arg(0);
  if (product->op != Op::Mult || !users.read_once(product)) return false;
  for (std::size_t k = 0; k < 2; ++k) {
    const Expr c = product.arg(k), other = product.arg(1 - k);
    const bool rooted = other->op == Op::Sqrt && users.read_once(other);
    const Expr distance = rooted ? other.arg(0) : other;
    if (!is_parameter(c) || width(c) != 1 || !users.are_alone(distance)) continue;
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

// Below this, points times their coefficient might lose digits that their differences need.
constexpr double kLeastOfDifferences = 0x1p-40;

// Formulas and what takes their place.
using Replaced = std::unordered_map<const Node*, Expr>;

void scale_one(Expr power, const Exponent& e, const Users& users, const Precision& precision, Replaced* replaced, std::vector<Guard>* guards) {
  const Expr at_i = e.distance.arg(0), at_j = e.distance.arg(1);
  const Side a = side_of(at_i), b = side_of(at_j);
  const int centre = common_centre(a.reading, b.reading);
  const Expr c = e.coefficient, s = e.rooted ? c : sqrt(c), by = a.scale ? s * a.scale : s;
  const Expr of_reach = e.rooted ? c * abs(c) : c;
  const Expr x = centred(a.reading, centre), y = centred(b.reading, centre), u = by * x, v = by * y;
  const Expr distance = sqdist(u, v);
  (*replaced)[power.get()] = exp2_minus(e.rooted ? sqrt(distance) : distance);
  const std::vector<Expr> differences = users.differences_of(at_i, at_j);
  for (Expr d : differences) (*replaced)[d.get()] = inv(s) * (d.arg(0) == at_i ? u - v : v - u);
  const double least = differences.empty() ? 0 : kLeastOfDifferences;
  guards->push_back({variable_read(x), variable_read(y), a.scale ? of_reach * square(a.scale) : of_reach, least, most_of(precision)});
}

// A product with one factor, that along the axis, taken times c. Null: it has none.
Expr with_factor_times(Expr product, Axes axis, Expr c) {
  if (product->type.axes.pairs() == axis) return c * product;
  if (product->op != Op::Mult) return Expr();
  for (std::size_t k = 0; k < 2; ++k)
    if (const Expr made = with_factor_times(product.arg(k), axis, c)) return made * product.arg(1 - k);
  return Expr();
}

// What all weights are taken times goes to where it is done for each point of the folded axis.
void pull_from_weight(OutputFormula* o) {
  if (o->red != Red::Sum || !o->weight || o->weight->op != Op::Mult || !is_parameter(o->weight.arg(0))) return;
  if (o->keep != Keep::i && o->keep != Keep::j) return;
  const Expr value = with_factor_times(o->value, o->keep == Keep::i ? Axes::j() : Axes::i(), o->weight.arg(0));
  if (!value) return;
  o->value = value;
  o->weight = o->weight.arg(1);
}

}  // namespace

bool scale_points(const Precision& precision, std::vector<OutputFormula>* outputs, std::vector<Guard>* guards) {
  const std::vector<Expr> formulas = formulas_of(*outputs);
  const Users users(formulas);
  Replaced replaced;
  for (Expr f : reachable(formulas)) {
    Exponent found;
    if (find_exponent(f, users, &found)) scale_one(f, found, users, precision, &replaced, guards);
  }
  if (guards->empty()) return false;
  put_formulas(rebuild(formulas, [&](Expr f, const std::vector<Expr>& args) {
    const auto made = replaced.find(f.get());
    return made == replaced.end() ? remade(f, args) : made->second;
  }), outputs);
  for (OutputFormula& o : *outputs) pull_from_weight(&o);
  return true;
}

}  // namespace kernweave
