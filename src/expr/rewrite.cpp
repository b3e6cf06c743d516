// Pattern matcher. Knows the meaning of a rule's letters and no rule.
#include "expr/rewrite.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

#include "base/error.hpp"
#include "expr/parse.hpp"
#include "expr/rules.hpp"

namespace kernweave {
namespace {

struct Pattern {
  const char* name;
  Expr from;
  Expr to;
  bool a_has_k_components;
};

// Parsed once; the pool lives as long as the process.
const std::vector<Pattern>& patterns() {
  static Pool pool(false);
  static const std::vector<Pattern> all = [] {
    std::vector<Pattern> made;
    for (const Rule& rule : rules()) {
      const bool counts = std::strcmp(rule.when, "a has k components") == 0;
      internal_check(counts || rule.when[0] == '\0', "rule ", rule.name, " has an unknown condition");
      made.push_back({rule.name, parse_pattern(rule.from, &pool), parse_pattern(rule.to, &pool), counts});
    }
    return made;
  }();
  return all;
}

// What the letters a to z stand for.
struct Bindings {
  std::array<Expr, 26> formulas;
  std::array<int, 26> attributes{};

  Expr& formula(char letter) { return formulas[letter - 'a']; }
  Expr formula(char letter) const { return formulas[letter - 'a']; }
  int& attribute(int code) { return attributes[pattern_letter(code) - 'a']; }
  int attribute(int code) const { return attributes[pattern_letter(code) - 'a']; }
};

bool fits_letter(char letter, Expr f) {
  if (letter == 's' || letter == 't') return width(f) == 1;
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

// Component operations by how often they run: for every pair, for every row or column, once.
struct Work {
  long long pair = 0, row = 0, once = 0;

  void add(Expr f) {
    int widest = width(f);
    for (const Node* arg : f->args) widest = std::max(widest, arg->type.width);
    const Axes axes = f->type.axes.pairs();
    (axes == Axes::ij() ? pair : axes.empty() ? once : row) += widest;
  }
  bool no_more_than(const Work& other) const {
    return std::tie(pair, row, once) <= std::tie(other.pair, other.row, other.once);
  }
};

std::vector<int> filled_in(std::vector<int> attributes, const Bindings& bound) {
  for (int& a : attributes)
    if (a < 0) a = bound.attribute(a);
  return attributes;
}

// A side of a rule with its letters filled in; what it adds to the formulas they stand for goes to `work`.
Expr filled_in(Expr pattern, Pool* pool, const Bindings& bound, Work* work) {
  if (pattern->op == Op::Var) return bound.formula(variable(pattern).name[0]);
  if (pattern->op == Op::Number) return pool->number(pattern->number);
  std::vector<Expr> args;
  for (const Node* arg : pattern->args) args.push_back(filled_in(Expr(arg), pool, bound, work));
  const Expr f = pool->make(pattern->op, args, filled_in(pattern->attributes, bound));
  work->add(f);
  return f;
}

bool fires(const Pattern& p, Expr f, Bindings* bound) {
  if (p.from->op != f->op || !match(p.from, f, bound)) return false;
  if (p.a_has_k_components && width(bound->formula('a')) != bound->attribute(pattern_attribute('k'))) return false;
  Work before, after;
  filled_in(p.from, f->pool, *bound, &before);
  const Expr to = filled_in(p.to, f->pool, *bound, &after);
  return to->type == f->type && !(to == f) && after.no_more_than(before);
}

class Simplifier {
 public:
  explicit Simplifier(std::vector<std::string>* fired) : fired_(fired) {}

  // The arguments are simple already.
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

  // The right side of a rule, simplified as it is made.
  Expr simple_side(Expr pattern, Pool* pool, const Bindings& bound) {
    Work unused;
    if (pattern->args.empty()) return filled_in(pattern, pool, bound, &unused);
    std::vector<Expr> args;
    for (const Node* arg : pattern->args) args.push_back(simple_side(Expr(arg), pool, bound));
    return simple(pool->make(pattern->op, args, filled_in(pattern->attributes, bound)));
  }

  std::vector<std::string>* fired_;
};

}  // namespace

std::vector<Expr> simplify(const std::vector<Expr>& formulas, std::vector<std::string>* fired) {
  Simplifier simplifier(fired);
  return rebuild(formulas, [&](Expr f, const std::vector<Expr>& args) {
    if (f->op == Op::Gather) return remade(f, args);
    return simplifier.simple(remade(f, args));
  });
}

}  // namespace kernweave
