// Matches patterns. Knows the meaning of a rule's letters, but no rule.
#include "expr/rewrite.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <cmath>
#include <cstring>
#include <tuple>
#include <unordered_set>

#include "base/error.hpp"
#include "expr/parse.hpp"
#include "expr/type.hpp"

namespace kernweave {

namespace {

// A rule's condition beyond types.
enum class When { always, a_has_k_components, m_is_negative, saves_work };
When when_of(const Rule& rule) {
  const std::pair<const char*, When> known[] = {{"", When::always},
                                                {"a has k components", When::a_has_k_components},
                                                {"m is negative", When::m_is_negative},
                                                {"saves work", When::saves_work}};
  for (const auto& k : known)
    if (std::strcmp(rule.when, k.first) == 0) return k.second;
  internal_check(false, "rule ", rule.name, " has an unknown condition");
  return When::always;
}

struct Pattern {
  const char* name;
  Expr from;
  Expr to;
  When when;
};

// Parsed once; the pool lives as long as the process.
const std::vector<Pattern>& patterns() {
  static Pool pool(false);
  static const std::vector<Pattern> all = [] {
    std::vector<Pattern> made;
    for (const Rule& rule : rules())
      made.push_back({rule.name, parse_pattern(rule.from, &pool), parse_pattern(rule.to, &pool), when_of(rule)});
    return made;
  }();
  return all;
}

// The formulas and attributes that the letters a to z stand for.
struct Bindings {
  std::array<Expr, 26> formulas;
  std::array<int, 26> attributes{};

  Expr& formula(char letter) { return formulas[letter - 'a']; }
  Expr formula(char letter) const { return formulas[letter - 'a']; }
  int& attribute(int code) { return attributes[pattern_letter(code) - 'a']; }
  int attribute(int code) const { return attributes[pattern_letter(code) - 'a']; }
};

// Tells whether f is neither negative nor -0, as far as a few levels tell: f may be deep, and its parts may be shared.
bool is_not_negative(Expr f, int levels = 3) {
  if (f->op == Op::Number) return f->number >= 0 && !std::signbit(f->number);
  const OpRow& r = row(f->op);
  if (r.not_negative || (r.not_negative_of_same && f->args[0] == f->args[1])) return true;
  return r.not_negative_of_such && levels > 0 && std::all_of(f->args.begin(), f->args.end(), [&](const Node* arg) {
           return is_not_negative(Expr(arg), levels - 1);
         });
}

// Tells whether f is known to be positive. Products and powers are not: they may underflow.
bool is_positive(Expr f, int levels = 3) {
  if (f->op == Op::Number) return f->number > 0;
  if (f->op != Op::Add || levels == 0 || !is_not_negative(f)) return false;
  return is_positive(f.arg(0), levels - 1) || is_positive(f.arg(1), levels - 1);
}

bool fits_letter(char letter, Expr f) {
  if (letter == 'w') return is_positive(f);
  if (letter == 'u') return is_not_negative(f);
  if (letter == 's' || letter == 't') return width(f) == 1;
  if (letter == 'p') return width(f) == 1 && f->type.axes.empty();
  if (letter == 'm' || letter == 'n') return f->op == Op::Number;
  return true;
}

bool match(Expr pattern, Expr f, Bindings* bound);

bool match_args(Expr pattern, Expr f, bool reversed, Bindings* bound) {
  const std::size_t n = pattern->args.size();
  for (std::size_t k = 0; k < n; ++k)
    if (!match(pattern.arg(k), f.arg(reversed ? n - 1 - k : k), bound)) return false;
  return true;
}

bool match_attributes(Expr pattern, Expr f, Bindings* bound) {
  for (std::size_t k = 0; k < f->attributes.size(); ++k) {
    const int wanted = pattern->attributes[k];
    if (wanted >= 0 && wanted != f->attributes[k]) return false;
    if (wanted >= 0) continue;
    int& meaning = bound->attribute(wanted);  // 0: not met yet, as attributes count from 1
    if (meaning != 0 && meaning != f->attributes[k]) return false;
    meaning = f->attributes[k];
  }
  return true;
}

bool match(Expr pattern, Expr f, Bindings* bound) {
  if (pattern->op == Op::Var) {
    const char letter = variable(pattern).name[0];
    Expr& meaning = bound->formula(letter);
    if (meaning) return meaning == f;
    if (!fits_letter(letter, f)) return false;
    meaning = f;
    return true;
  }
  if (pattern->op != f->op) return false;
  if (pattern->op == Op::Number) return pattern->number == f->number;
  if (!match_attributes(pattern, f, bound)) return false;
  const Bindings before = *bound;
  if (match_args(pattern, f, false, bound)) return true;
  *bound = before;
  return row(f->op).commutes && match_args(pattern, f, true, bound);
}

Expr fold_numbers(Expr f) {
  const OpRow& r = row(f->op);
  const auto is_number = [](const Node* arg) { return arg->op == Op::Number; };
  const bool all = !f->args.empty() && std::all_of(f->args.begin(), f->args.end(), is_number);
  if (r.form != Form::elementwise || !all || f->type.kind == Kind::logical) return f;
  Lane in[3];
  for (std::size_t k = 0; k < f->args.size(); ++k) in[k] = Lane(f->args[k]->number);
  return f->pool->number(r.value(in).v, f->type.kind);
}

// An estimate of instructions, by how often they run: for every pair, for every row or column, once.
struct Work {
  long long pair = 0, row = 0, once = 0;

  void add(Expr f) {
    int widest = width(f);
    for (const Node* arg : f->args) widest = std::max(widest, arg->type.width);
    const Axes axes = f->type.axes.pairs();
    (axes == Axes::ij() ? pair : axes.empty() ? once : row) += static_cast<long long>(widest) * row_cost(f);
  }
  static int row_cost(Expr f) { return kernweave::row(f->op).cost; }
  bool no_more_than(const Work& other) const {
    return std::tie(pair, row, once) <= std::tie(other.pair, other.row, other.once);
  }
};

std::vector<int> filled_in(std::vector<int> attributes, const Bindings& bound) {
  for (int& a : attributes)
    if (a < 0) a = bound.attribute(a);
  return attributes;
}

// Returns a side of a rule with its letters filled in; adds the work of the side, without the letters' work, to `work`.
Expr filled_in(Expr pattern, Pool* pool, const Bindings& bound, Work* work) {
  if (pattern->op == Op::Var) return bound.formula(variable(pattern).name[0]);
  if (pattern->op == Op::Number) return pool->number(pattern->number);
  std::vector<Expr> args;
  for (const Node* arg : pattern->args) args.push_back(filled_in(Expr(arg), pool, bound, work));
  const Expr f = pool->make(pattern->op, args, filled_in(pattern->attributes, bound));
  work->add(f);
  return f;
}

bool holds(When when, const Bindings& bound) {
  switch (when) {
    case When::a_has_k_components: return width(bound.formula('a')) == bound.attribute(pattern_attribute('k'));
    case When::m_is_negative: return bound.formula('m')->number < 0;
    default: return true;
  }
}

bool fires(const Pattern& p, Expr f, Bindings* bound) {
  if (p.from->op != f->op || !match(p.from, f, bound)) return false;
  if (!holds(p.when, *bound)) return false;
  Work before, after;
  filled_in(p.from, f->pool, *bound, &before);
  const Expr to = filled_in(p.to, f->pool, *bound, &after);
  const bool less = after.no_more_than(before) && (p.when != When::saves_work || !before.no_more_than(after));
  return to->type == f->type && !(to == f) && less;
}

// --- factor order --------------------------------------------------------------------------------------------------
// Products, ordered by how often their factors run. Collects the factors, then multiplies each group, then the groups.

// Makes a node, simplified.
using MakeNode = std::function<Expr(Op, const std::vector<Expr>&)>;

enum FactorGroup { kOnce, kAlongI, kAlongJ, kPairs, kGroups };

FactorGroup group_of(Expr f) {
  const Axes axes = f->type.axes.pairs();
  if (axes == Axes::ij()) return kPairs;
  if (axes == Axes::i()) return kAlongI;
  return axes == Axes::j() ? kAlongJ : kOnce;
}

class GroupedFactors {
 public:
  GroupedFactors(const std::function<bool(Expr)>& shared, const MakeNode& make) : shared_(shared), make_(make) {}

  // No recursion: a product may be as long as memory allows.
  void collect(Expr product) {
    std::vector<Expr> open = {product};
    while (!open.empty()) {
      const Expr f = open.back();
      open.pop_back();
      const bool inner = f == product || !shared_(f);
      if (f->op == Op::Mult && inner) {
        open.push_back(f.arg(1));
        open.push_back(f.arg(0));
      } else if (f->op == Op::Minus && inner) {
        number_ = -number_;
        open.push_back(f.arg(0));
      } else if (f->op == Op::Number) {
        number_ *= f->number;
      } else {
        Expr& group = (width(f) == 1 ? scalars_ : vectors_)[group_of(f)];
        group = times(group, f);
      }
    }
  }

  Expr product(Pool* pool) {
    if (number_ != 1 && number_ != -1) scalars_[kOnce] = times(pool->number(number_), scalars_[kOnce]);
    take_along(kAlongI);
    take_along(kAlongJ);
    Expr scalar = times(scalars_[kPairs], scalars_[kAlongJ]);
    scalar = times(scalar, scalars_[kAlongI]);
    // A parameter that is left stands alone: there is no factor that runs less often than the pairs to take it in.
    Expr all = times(scalars_[kOnce], scalar);
    for (const FactorGroup g : {kOnce, kAlongI, kAlongJ, kPairs}) all = times(all, vectors_[g]);
    if (!all) return pool->number(number_);
    return number_ == -1 ? make_(Op::Minus, {all}) : all;
  }

 private:
  Expr times(Expr a, Expr b) const {
    if (!a) return b;
    return b ? make_(Op::Mult, {a, b}) : a;
  }

  // Multiplies parameters, then numbers along an axis, into factors that run least often: into the vector along the
  // axis, if there is one, else into the other numbers along it.
  void take_along(FactorGroup axis) {
    if (scalars_[axis] && scalars_[kOnce]) {
      scalars_[axis] = times(scalars_[kOnce], scalars_[axis]);
      scalars_[kOnce] = Expr();
    }
    Expr& vector = vectors_[axis];
    if (vector && scalars_[kPairs] && scalars_[axis]) {
      vector = times(scalars_[axis], vector);
      scalars_[axis] = Expr();
    }
  }

  const std::function<bool(Expr)>& shared_;
  const MakeNode& make_;
  double number_ = 1;
  std::array<Expr, kGroups> scalars_, vectors_;
};

// Regroups the factors of a product: numbers, parameters and factors that vary along one axis are multiplied among
// themselves first, numbers of one component before vectors. Signs come out as one sign. A product that is `shared` is
// left as a factor. The value is the same up to rounding.
Expr ordered_product(Expr product, const std::function<bool(Expr)>& shared, const MakeNode& make) {
  GroupedFactors factors(shared, make);
  factors.collect(product);
  return factors.product(product->pool);
}

// --- simplify ------------------------------------------------------------------------------------------------------

class Simplifier {
 public:
  explicit Simplifier(std::vector<std::string>* fired) : fired_(fired) {}

  // Notes that other formulas use this formula, so that it stays in one piece.
  void note_shared(Expr f) { shared_.insert(f.get()); }

  // Orders a product so that its factors run as seldom as they can, but only if that saves work: factors of equal cost
  // keep the user's order.
  Expr ordered(Expr f) {
    if (f->op != Op::Mult) return f;
    const auto shared = [&](Expr g) { return shared_.count(g.get()) > 0; };
    const Expr to = ordered_product(
        f, shared, [&](Op op, const std::vector<Expr>& args) { return simple(f->pool->make(op, args)); });
    if (!(to->type == f->type) || !(product_work(to) < product_work(f))) return f;
    if (fired_) fired_->push_back("factors-by-axes");
    return to;
  }

  // Simplifies a node whose arguments are already simple.
  Expr simple(Expr f) {
    for (int turns = 0;; ++turns) {
      internal_check(turns < kMostTurns, "the rewrite rules go round in circles");
      Expr next = fold_numbers(f);
      if (next == f) next = first_rule(f);
      if (next == f) return f;
      f = next;
    }
  }

 private:
  // A formula shrinks or sorts itself with each turn; no chain in the tests takes more than five.
  static constexpr int kMostTurns = 200;

  Expr first_rule(Expr f) {
    for (const Pattern& p : patterns()) {
      Bindings bound;
      if (!fires(p, f, &bound)) continue;
      if (fired_) fired_->push_back(p.name);
      return simple_side(p.to, f->pool, bound);
    }
    return f;
  }

  // Makes the right side of a rule, simplified as it is made.
  Expr simple_side(Expr pattern, Pool* pool, const Bindings& bound) {
    Work unused;
    if (pattern->args.empty()) return filled_in(pattern, pool, bound, &unused);
    std::vector<Expr> args;
    for (const Node* arg : pattern->args) args.push_back(simple_side(Expr(arg), pool, bound));
    return simple(pool->make(pattern->op, args, filled_in(pattern->attributes, bound)));
  }

  // Counts the work of the multiplications alone, down to the factors.
  std::array<long long, 3> product_work(Expr product) const {
    Work work;
    for (std::vector<Expr> open = {product}; !open.empty();) {
      const Expr f = open.back();
      open.pop_back();
      if ((f->op != Op::Mult && f->op != Op::Minus) || (!(f == product) && shared_.count(f.get()))) continue;
      work.add(f);
      for (const Node* arg : f->args) open.push_back(Expr(arg));
    }
    return {work.pair, work.row, work.once};
  }

  std::vector<std::string>* fired_;
  std::unordered_set<const Node*> shared_;
};

}  // namespace

std::array<long long, 3> work_of(Expr formula) {
  Work work;
  for (Expr f : reachable({formula}))
    if (!f->args.empty()) work.add(f);
  return {work.pair, work.row, work.once};
}

std::vector<Expr> with_numbers_folded(const std::vector<Expr>& formulas) {
  return rebuild(formulas, [](Expr f, const std::vector<Expr>& args) { return fold_numbers(remade(f, args)); });
}

std::vector<Expr> simplify(const std::vector<Expr>& formulas, std::vector<std::string>* fired) {
  Simplifier simplifier(fired);
  std::unordered_map<const Node*, int> users;
  std::unordered_set<const Node*> inner;  // factors of a larger product
  for (Expr f : reachable(formulas))
    for (const Node* arg : f->args) {
      ++users[arg];
      if (f->op == Op::Mult || f->op == Op::Minus) inner.insert(arg);
    }
  return rebuild(formulas, [&](Expr f, const std::vector<Expr>& args) {
    if (f->op == Op::Gather) return remade(f, args);
    Expr simple = simplifier.simple(remade(f, args));
    const bool shared = users[f.get()] > 1;
    if (shared || !inner.count(f.get())) simple = simplifier.ordered(simple);
    if (shared) simplifier.note_shared(simple);
    return simple;
  });
}

}  // namespace kernweave
