// Replaces distances in exponents: finds the role of each formula from the leaves up, then replaces the distances.
#include "plan/outputs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "expr/build.hpp"
#include "expr/grad.hpp"
#include "expr/on_lane.hpp"
#include "expr/rewrite.hpp"

namespace kernweave {
namespace {

// The fewest components of a distance that is replaced: fewer are subtracted as fast, since an inner product has two
// more (bench/notes/03-cpu-2.md).
constexpr int kFewestComponents = 5;
// Tensor cores take 16 components at once, and save time from half as many on.
constexpr int kFewestOfInner = 8;
constexpr int kNoInner = std::numeric_limits<int>::max();

// The most components of a part: the squares of one part are subtracted before the next part is added. In a single
// part, the sum of D components would grow to the size of all squares and be rounded there D times. Each part has two
// more components: a tenth of the work in float32, in which roundings count, a thirtieth in float64.
int most_together(const Precision& precision) { return precision.wide() ? 64 : 20; }
int together(int width, int most) {
  const int parts = (width + most - 1) / most;
  return (width + parts - 1) / parts;
}

// The choice of distances to be replaced: distances of at least `fewest` components. Inner products of at least
// `fewest_of_inner` components stay as they are.
struct Choice {
  int fewest, most_together, fewest_of_inner;
  bool takes(Expr f) const { return is_distance_across(f) && width(f.arg(0)) >= fewest; }
  bool leaves(Expr f) const { return is_inner_across(f) && width(f.arg(0)) >= fewest_of_inner; }
};

// The squares of points that expanded distances consist of.
using SquareNodes = std::unordered_set<const Node*>;

// free: a formula without distances. exponent: distances times parameters, plus free formulas. factor: an exponential
// of an exponent, times free formulas or other factors.
enum class Role { free, exponent, factor, other };

// A distance or an inner product in an exponent, and its coefficient there.
struct ExponentTerm {
  Expr distance;
  Expr coefficient;
};

class Roles {
 public:
  Roles(const std::vector<Expr>& formulas, const Choice& choice) : choice_(choice) {
    for (Expr f : reachable(formulas)) roles_[f.get()] = find(f);
  }
  Role of(Expr f) const { return f ? roles_.at(f.get()) : Role::free; }
  // Notes that the distances in f are in an exponent to the base exp(log_base).
  void settle(Expr f, double log_base) {
    for (const ExponentTerm& part : parts_[f.get()])
      settled_.push_back(
          {part.distance, log_base == 1 ? part.coefficient : f->pool->number(log_base) * part.coefficient});
  }
  const std::vector<ExponentTerm>& settled() const { return settled_; }

 private:
  Role find(Expr f) {
    if (choice_.takes(f) || choice_.leaves(f)) {
      parts_[f.get()] = {{f, f->pool->number(1)}};
      return Role::exponent;
    }
    const OpRow& r = row(f->op);
    const auto all = [&](auto is) { return std::all_of(f->args.begin(), f->args.end(), is); };
    if (all([&](const Node* arg) { return of(Expr(arg)) == Role::free; })) return Role::free;
    if (all([&](const Node* arg) { return of(Expr(arg)) != Role::other && of(Expr(arg)) != Role::factor; })) {
      if (r.log_base == 0) return sum(f);
      settle(f.arg(0), r.log_base);
      return Role::factor;
    }
    return is_product(f) ? Role::factor : Role::other;
  }

  // Tells whether f is a product: its relative error is that of its factors.
  bool is_product(Expr f) const {
    const OpRow& r = row(f->op);
    if (!r.multiplies()) return false;
    for (std::size_t k = 0; k < f->args.size(); ++k) {
      const Role role = of(f.arg(k));
      if (role != Role::free && (role != Role::factor || r.law.powers[k].power < 1)) return false;
    }
    return true;
  }
  // The role of a sum of exponents and free formulas, or of an exponent times parameters. Bounds are of absolute
  // values, so the signs of the terms do not matter.
  Role sum(Expr f) {
    std::vector<bool> fixed;
    for (const Node* arg : f->args) fixed.push_back(is_parameter(Expr(arg)) && width(Expr(arg)) == 1);
    const std::optional<std::vector<bool>> linear = linear_arguments(f->op, fixed);
    if (!linear || width(f) != 1) return Role::other;
    const bool alone = std::count(linear->begin(), linear->end(), true) == 1;
    std::vector<ExponentTerm> parts;
    for (const Node* arg : f->args)
      for (const auto& [distance, c] : parts_[arg])
        parts.push_back({distance, alone ? pull_back(f, c, {Expr(arg)}, f->id)[0] : c});
    parts_[f.get()] = parts;
    return Role::exponent;
  }

  const Choice choice_;
  std::unordered_map<const Node*, Role> roles_;
  std::unordered_map<const Node*, std::vector<ExponentTerm>> parts_;
  std::vector<ExponentTerm> settled_;
};

// Tells whether an error in the exponents is no more than a relative error of the terms that are added up.
bool may_contract(const std::vector<OutputFormula>& outputs, Roles* roles) {
  for (const OutputFormula& o : outputs) {
    const Role value = roles->of(o.value), weight = roles->of(o.weight);
    const bool terms =
        value != Role::other && value != Role::exponent && weight != Role::other && weight != Role::exponent;
    if (value == Role::free && weight == Role::free) continue;
    if (row(o.red).exponents && value == Role::exponent && weight == Role::free) roles->settle(o.value, 1.0);
    else if (o.red != Red::Sum || !terms) return false;
  }
  return true;
}

// Concatenates n parts by halves, so that each number is copied log2(n) times.
Expr joined(const std::vector<Expr>& parts, std::size_t first, std::size_t end) {
  if (end - first == 1) return parts[first];
  const std::size_t middle = (first + end) / 2;
  return concat(joined(parts, first, middle), joined(parts, middle, end));
}

// The points of c |x - y|^2, each times sqrt(|c|): in any units of the data, they are about 1 if their terms count.
struct Rooted {
  Expr u, v, way;  // sqrt(|c|) x, sqrt(|c|) y, and the sign of c

  Rooted(Expr distance, Expr c) : way(sign(c)) {
    const ScaledPoints a = side_of(distance.arg(0)), b = side_of(distance.arg(1));
    const int centre = common_centre(a.reading, b.reading);
    const Expr root = sqrt(abs(c));
    const auto moved = [&](const ScaledPoints& side) {
      return (side.scale ? root * side.scale : root) * centred(side.reading, centre);
    };
    u = moved(a);
    v = moved(b);
  }
};

// Returns <(-2s u, s |u|^2, 1), (v, 1, s |v|^2)>, s the sign of c, part by part. Each argument depends on one axis and
// is computed once a point.
Expr inner_product(const Rooted& points, int most_together) {
  const Expr u = points.u, v = points.v, way = points.way, lead = (-2 * way) * u, one = u->pool->number(1);
  const int step = together(width(u), most_together);
  std::vector<Expr> left, right;
  for (int first = 0; first < width(u); first += step) {
    const auto part = [&](Expr f) {
      return width(f) <= step ? f : extract(f, first + 1, std::min(step, width(f) - first));
    };
    const Expr of_u = part(u), of_v = part(v);
    left.insert(left.end(), {part(lead), way * scalprod(of_u, of_u), one});
    right.insert(right.end(), {of_v, one, way * scalprod(of_v, of_v)});
  }
  return scalprod(joined(left, 0, left.size()), joined(right, 0, right.size()));
}

// Returns (s |u|^2 + s |v|^2) + <-2s u, v>: with few components, the squares may stay outside the inner product.
Expr expanded(const Rooted& points, SquareNodes* squares) {
  const Expr u = points.u, v = points.v, way = points.way;
  const Expr of_u = way * scalprod(u, u), of_v = way * scalprod(v, v),
             both = of_u + of_v;  // made first, so that they are computed first
  squares->insert({of_u.get(), of_v.get()});
  return both + scalprod((-2 * way) * u, v);
}

Expr without_difference(Expr distance, Expr c, int most_together, SquareNodes* squares) {
  const Rooted points(distance, c);
  return width(points.u) < kFewestComponents ? expanded(points, squares) : inner_product(points, most_together);
}

// Replaces distances; a coefficient moves into its distance if nothing else reads the distance.
std::vector<Expr> replaced(const std::vector<Expr>& formulas, const Choice& choice, SquareNodes* squares) {
  std::unordered_map<const Node*, int> users;
  for (Expr f : reachable(formulas))
    for (const Node* arg : f->args) ++users[arg];
  return rebuild(formulas, [&](Expr f, const std::vector<Expr>& args) {
    if (choice.takes(f)) return without_difference(f, f->pool->number(1), choice.most_together, squares);
    for (std::size_t k = 0; k < 2 && f->op == Op::Mult; ++k) {
      const Expr distance = f.arg(k), c = f.arg(1 - k);
      if (choice.takes(distance) && users[distance.get()] == 1 && is_parameter(c) && width(c) == 1)
        return without_difference(distance, c, choice.most_together, squares);
    }
    return remade(f, args);
  });
}

// Rounding errors add up like a random walk. Near points: the squares of n components are added and subtracted, D / n
// times. Far points: D components are added to a sum that stays large. With these constants,
// tests/testthat/test-contract.R finds the allowed error of a term at the edge of the bound. Exponents of 200 differ in
// float64 alone, so far points count for more there.
double contraction_bound(int width, const Precision& precision) {
  const double part = together(width, most_together(precision)), group = part / width;
  const double near = 1 + (1.8 + 0.7 * std::sqrt(part)) * std::sqrt(group);
  const double far = width / (precision.wide() ? 22.0 : 50.0);
  return precision.allowed() / (precision.unit() * std::max(near, far));
}

// |<u, v>| <= (|u|^2 + |v|^2) / 2, and no squares are subtracted from an inner product. At 0.3 of this bound, the limit
// of tensor cores, errors of terms were 2.6e-6 at most for random points, 2.5e-5 for points that are all aligned, and
// 1.1e-5 without tensor cores (H200, 8 to 200 components).
constexpr double kInnerOfDistance = 3;
ConditionGuard guard_of_inner(const ExponentTerm& part, const Precision& precision) {
  const ScaledPoints a = side_of(part.distance.arg(0)), b = side_of(part.distance.arg(1));
  const double bound = kInnerOfDistance * contraction_bound(width(a.reading), precision);
  Expr factor = part.distance->pool->number(0.5) * part.coefficient;
  for (const Expr& scale : {a.scale, b.scale})
    if (scale) factor = factor * scale;
  return {variable_read(a.reading), variable_read(b.reading), factor, -bound, bound};
}

// Replaces 2^(|u|^2 + |v|^2 + p) by 2^(|u|^2) 2^(|v|^2) 2^p, each factor in its own region. Other terms of the exponent
// stay with p: the condition bounds the squares alone.
Expr apart(Expr power, const SquareNodes& squares) {
  Expr rest, product;
  for (std::vector<Expr> open = {power.arg(0)}; !open.empty();) {
    const Expr f = open.back();
    open.pop_back();
    if (f->op == Op::Add && width(f) == 1) {
      open.push_back(f.arg(1));
      open.push_back(f.arg(0));
    } else if (squares.count(f.get()) > 0) {
      Factors::times(&product, exp2(f));
    } else {
      rest = rest ? rest + f : f;
    }
  }
  if (!product) return power;
  return rest ? product * exp2(rest) : product;
}

// Splits powers in terms of sums: factors of the folded axis become the weight, factors of the kept axis come first.
void take_exponents_apart(const SquareNodes& squares, std::vector<OutputFormula>* outputs) {
  put_formulas(rebuild(formulas_of(*outputs),
                       [&](Expr f, const std::vector<Expr>& args) {
                         const Expr made = remade(f, args);
                         return f->op == Op::Exp2 ? apart(made, squares) : made;
                       }),
               outputs);
  for (OutputFormula& o : *outputs) {
    Factors factors(o);
    if (factors.pairs.empty()) continue;
    Expr value, wide;  // factors of one component and of several: the latter become the weight
    for (Expr f : factors.pairs) Factors::times(width(f) > 1 ? &wide : &value, f);
    Expr* const rest = factors.folded ? &factors.folded : &factors.kept;
    if (factors.once) Factors::times(rest, factors.once);
    const bool weighs = value && wide && (!factors.folded || width(factors.folded) == 1);
    if (weighs && factors.folded) value = value * factors.folded;
    if (!weighs && wide) Factors::times(&value, wide);
    o.value = factors.kept ? factors.kept * value : value;
    o.weight = weighs ? wide : factors.folded;
  }
}

bool replace_distances(const Choice& choice, const Precision& precision, std::vector<OutputFormula>* outputs,
                       std::vector<ConditionGuard>* guards, SquareNodes* squares) {
  const std::vector<Expr> formulas = formulas_of(*outputs);
  Roles roles(formulas, choice);
  if (!may_contract(*outputs, &roles) || roles.settled().empty()) return false;
  for (const ExponentTerm& part : roles.settled()) {
    if (part.distance->op == Op::Scalprod) {
      guards->push_back(guard_of_inner(part, precision));
      continue;
    }
    const ScaledPoints a = side_of(part.distance.arg(0)), b = side_of(part.distance.arg(1));
    const int centre = common_centre(a.reading, b.reading);
    const auto variable_of = [&](const ScaledPoints& side) { return variable_read(centred(side.reading, centre)); };
    const double bound = contraction_bound(width(a.reading), precision);
    guards->push_back({variable_of(a), variable_of(b), a.scale ? part.coefficient * square(a.scale) : part.coefficient,
                       -bound, bound});
  }
  put_formulas(replaced(formulas, choice, squares), outputs);
  return true;
}

}  // namespace

bool contract(const Precision& precision, std::vector<OutputFormula>* outputs, std::vector<ConditionGuard>* guards) {
  SquareNodes none;
  const auto replaced = [&](int fewest_of_inner) {
    return replace_distances({kFewestComponents, most_together(precision), fewest_of_inner}, precision, outputs, guards,
                             &none);
  };
  // Conditions of inner products are for tensor cores, which have no float64. If an inner product is outside of
  // exponents too, distances alone are replaced.
  return (!precision.wide() && replaced(kFewestOfInner)) || replaced(kNoInner);
}

bool expand(const Precision& precision, std::vector<OutputFormula>* outputs, std::vector<ConditionGuard>* guards) {
  const auto is_short = [](Expr f) { return is_distance_across(f) && width(f.arg(0)) < kFewestComponents; };
  const std::vector<Expr> all = reachable(formulas_of(*outputs));
  SquareNodes squares;
  if (std::none_of(all.begin(), all.end(), is_short) ||
      !replace_distances({1, most_together(precision), kNoInner}, precision, outputs, guards, &squares))
    return false;
  const auto sums_along_an_axis = [](const OutputFormula& o) {
    return o.red == Red::Sum && (o.keep == Keep::i || o.keep == Keep::j);
  };
  if (std::all_of(outputs->begin(), outputs->end(), sums_along_an_axis)) take_exponents_apart(squares, outputs);
  return true;
}

}  // namespace kernweave
