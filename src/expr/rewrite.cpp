// Pattern matcher. Knows the meaning of a rule's letters and no rule.
#include "expr/rewrite.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "expr/parse.hpp"
#include "expr/rules.hpp"

namespace kernweave {
namespace {

struct Pattern {
  const char* name;
  Expr from;
  Expr to;
};

// Parsed once; the pool lives as long as the process.
const std::vector<Pattern>& patterns() {
  static Pool pool(false);
  static const std::vector<Pattern> all = [] {
    std::vector<Pattern> made;
    for (const Rule& rule : rules())
      made.push_back({rule.name, parse_pattern(rule.from, &pool), parse_pattern(rule.to, &pool)});
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
    if (wanted < 0) bound->attribute(wanted) = f->attributes[k];
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
  return f->pool->number(r.value(in).v);
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
      if (p.from->op != f->op) continue;
      Bindings bound;
      if (!match(p.from, f, &bound)) continue;
      const std::size_t before = fired_ ? fired_->size() : 0;
      const Expr to = instantiate(p.to, f, bound);
      const bool fires = to->type == f->type && !(to == f);
      note(fires, p.name, before);
      if (fires) return to;
    }
    return f;
  }

  // A side of a rule with its letters filled in. Arguments widths may not suit the new operation
  // (`sum(a * b)` with b of one component): then the type differs and the rule does not fire.
  Expr instantiate(Expr pattern, Expr model, const Bindings& bound) {
    if (pattern->op == Op::Var) return bound.formula(variable(pattern).name[0]);
    if (pattern->op == Op::Number) return model->pool->number(pattern->number);
    std::vector<Expr> args;
    for (const Node* arg : pattern->args) args.push_back(instantiate(Expr(arg), model, bound));
    std::vector<int> attributes = pattern->attributes;
    for (int& a : attributes)
      if (a < 0) a = bound.attribute(a);
    return simple(model->pool->make(pattern->op, args, attributes));
  }

  // Rules that fired while the right side was made come after the rule itself; if it did not fire,
  // they did not either.
  void note(bool fires, const char* name, std::size_t before) {
    if (!fired_) return;
    if (fires) fired_->insert(fired_->begin() + static_cast<std::ptrdiff_t>(before), name);
    else fired_->resize(before);
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
