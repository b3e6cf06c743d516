// R's way to formulas: making nodes, text both ways, gradients.
#include "border.hpp"
#include "r_formula.hpp"

#include <set>
#include <unordered_map>
#include <utility>

#include "expr/build.hpp"
#include "expr/grad.hpp"
#include "expr/parse.hpp"
#include "expr/rewrite.hpp"

namespace kernweave {
namespace {

Red red_named(const std::string& name) {
  Red red;
  user_check(find_red(name, &red), Fault::unknown_op, "unknown reduction `", name, "`");
  return red;
}

// One reduction from R: list(value, weight, op, result, saved, here), normalised.
ReducedFormula reduced_from_r(const Rcpp::List& from, Formulas* formulas) {
  const Expr weight = formulas->read_optional(from["weight"]);
  const Expr result = formulas->read_optional(from["result"]);
  const Expr saved = formulas->read_optional(from["saved"]);
  const Expr here = formulas->read_optional(from["here"]);
  const Expr value = normalised_for_derivatives(formulas->read(from["value"]));
  return {red_named(from["op"]), value, weight ? normalised_for_derivatives(weight) : weight, result, saved, here};
}

std::vector<Expr> roots_of(const ReducedFormula& reduced) {
  std::vector<Expr> roots = {reduced.x};
  if (reduced.w) roots.push_back(reduced.w);
  return roots;
}

// A leaf's axis as the axis its gradient keeps.
const char* kept_by(Expr leaf) {
  const Axes axes = leaf->type.axes.pairs();
  return axes == Axes::i() ? "i" : axes == Axes::j() ? "j" : axes.empty() ? "none" : "both";
}

// One term of an operand's gradient: the formula to add up, what it keeps, for a gathered operand the row
// numbers its rows belong to, and whether a matrix of pairs was read by columns.
Rcpp::List gradient_term(Expr leaf, Expr term, Formulas* formulas) {
  const bool gathered = leaf->op == Op::Gather;
  user_check(!gathered || leaf->type.axes.pairs() != Axes::ij(), Fault::unsupported, "the gradient of `",
             show_short(leaf), "`, gathered along both axes, is not built yet");
  const bool transposed = leaf->op == Op::Var && variable(leaf).axis == Axis::pair_swapped;
  const SEXP rows = gathered ? formulas->write(leaf.arg(1)) : R_NilValue;
  return Rcpp::List::create(Rcpp::_["value"] = formulas->write(term), Rcpp::_["keep"] = kept_by(leaf),
                            Rcpp::_["rows"] = rows, Rcpp::_["transposed"] = transposed);
}

}  // namespace
}  // namespace kernweave

// [[Rcpp::export(rng = false)]]
SEXP r_apply(SEXP op, Rcpp::List args, SEXP attributes) {
  return kernweave::at_border([&]() -> SEXP { return kernweave::applied(CHAR(STRING_ELT(op, 0)), args, attributes); });
}

// [[Rcpp::export(rng = false)]]
SEXP r_whole_power(SEXP formula, int exponent) {
  return kernweave::at_border([&]() -> SEXP {
    kernweave::Formulas formulas;
    return formulas.write(kernweave::whole_power(formulas.read(formula), exponent));
  });
}

// [[Rcpp::export(rng = false)]]
SEXP r_bar(SEXP a, SEXP b) {
  return kernweave::at_border([&]() -> SEXP {
    kernweave::Formulas formulas;
    const kernweave::Expr left = formulas.read(a), right = formulas.read(b);
    return formulas.write(kernweave::bar(left, right));
  });
}

// [[Rcpp::export(rng = false)]]
std::string r_show(SEXP formula, int budget) {
  return kernweave::at_border([&] {
    kernweave::Formulas formulas;
    return kernweave::show(formulas.read(formula), static_cast<std::size_t>(budget));
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List r_operands(Rcpp::List formulas) {
  return kernweave::at_border([&] {
    kernweave::Formulas read;
    read.read_all(formulas);
    return read.operands();
  });
}

// Formulas over other operands in place of their own.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_restate(Rcpp::List formulas, Rcpp::List operands, Rcpp::List others) {
  return kernweave::at_border([&] {
    kernweave::Formulas read;
    const std::vector<kernweave::Expr> exprs = read.read_all(formulas);
    for (R_xlen_t k = 0; k < operands.size(); ++k) read.replace_operand(operands[k], others[k]);
    Rcpp::List out(formulas.size());
    for (R_xlen_t k = 0; k < out.size(); ++k) out[k] = read.write(exprs[static_cast<std::size_t>(k)]);
    return out;
  });
}

// Formulas with other formulas in the places of operands.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_with_operands(Rcpp::List formulas, Rcpp::List operands, Rcpp::List others) {
  return kernweave::at_border([&] {
    kernweave::Formulas read;
    const std::vector<kernweave::Expr> before = read.read_all(formulas);
    std::unordered_map<int, kernweave::Expr> instead;
    for (R_xlen_t k = 0; k < operands.size(); ++k) instead[read.operand_number(operands[k])] = read.read(others[k]);
    const auto remake = [&](kernweave::Expr f, const std::vector<kernweave::Expr>& args) {
      const auto found = f->op == kernweave::Op::Var ? instead.find(kernweave::variable(f).operand) : instead.end();
      return found == instead.end() ? kernweave::remade(f, args) : found->second;
    };
    Rcpp::List out;
    for (const kernweave::Expr f : kernweave::rebuild(before, remake)) out.push_back(read.write(f));
    return out;
  });
}

// Finds the first place of each object among others, counted from 1: the object itself, not an equal object.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerVector r_match(Rcpp::List objects, Rcpp::List among) {
  return kernweave::at_border([&] {
    std::unordered_map<SEXP, int> places;
    for (R_xlen_t k = 0; k < among.size(); ++k) places.emplace(VECTOR_ELT(among, k), static_cast<int>(k) + 1);
    Rcpp::IntegerVector out(objects.size());
    for (R_xlen_t k = 0; k < objects.size(); ++k) {
      const auto found = places.find(VECTOR_ELT(objects, k));
      out[k] = found == places.end() ? NA_INTEGER : found->second;
    }
    return out;
  });
}

// The operands a formula reads along axes of pairs themselves, in their order, and along which (as R codes axes). What
// is gathered is not among them: the row numbers it is gathered by are.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_read_along(SEXP formula) {
  return kernweave::at_border([&] {
    kernweave::Formulas formulas;
    const kernweave::Expr root = kernweave::normalised({formulas.read(formula)})[0];
    std::set<std::pair<int, int>> found;
    const auto note = [&](kernweave::Expr f) {
      if (f->op != kernweave::Op::Var || f->type.axes.pairs().empty()) return;
      const kernweave::Variable& v = kernweave::variable(f);
      if (v.source == kernweave::Source::data) found.emplace(v.operand, static_cast<int>(v.axis));
    };
    note(root);
    for (kernweave::Expr f : kernweave::reachable({root}))
      for (std::size_t k = f->op == kernweave::Op::Gather ? 1 : 0; k < f->args.size(); ++k) note(f.arg(k));
    const Rcpp::List all = formulas.operands();
    Rcpp::List operands;
    Rcpp::IntegerVector axes;
    for (const auto& [operand, axis] : found) {
      operands.push_back(all[operand]);
      axes.push_back(axis);
    }
    return Rcpp::List::create(Rcpp::_["operands"] = operands, Rcpp::_["axes"] = axes);
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List r_parse(std::string text, Rcpp::CharacterVector names, Rcpp::List values, bool keops = false) {
  return kernweave::at_border([&] {
    kernweave::Formulas formulas;
    std::unordered_map<std::string, R_xlen_t> places;
    for (R_xlen_t k = 0; k < names.size(); ++k) places.emplace(CHAR(STRING_ELT(names, k)), k);
    const kernweave::NameLookup scope = [&](const std::string& name) {
      const auto found = places.find(name);
      return found == places.end() ? kernweave::Expr() : formulas.read(values[found->second]);
    };
    const kernweave::Grammar grammar = keops ? kernweave::Grammar::keops : kernweave::Grammar::ours;
    const kernweave::Parsed parsed = kernweave::parse(text, &formulas.pool(), scope, grammar);
    const SEXP weight = parsed.weight ? formulas.write(parsed.weight) : R_NilValue;
    return Rcpp::List::create(Rcpp::_["formula"] = formulas.write(parsed.formula),
                              Rcpp::_["reduction"] = parsed.reduction, Rcpp::_["K"] = parsed.places,
                              Rcpp::_["axis"] = parsed.axis, Rcpp::_["folded"] = parsed.folded,
                              Rcpp::_["weight"] = weight);
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List r_parse_declaration(std::string text) {
  return kernweave::at_border([&] {
    const kernweave::Declaration d = kernweave::parse_declaration(text);
    return Rcpp::List::create(Rcpp::_["name"] = d.name, Rcpp::_["axis"] = static_cast<int>(d.axis),
                              Rcpp::_["width"] = d.width, Rcpp::_["place"] = d.place);
  });
}

// [[Rcpp::export(rng = false)]]
int r_size(SEXP formula) {
  return kernweave::at_border([&] {
    kernweave::Formulas formulas;
    const auto nodes = kernweave::reachable(kernweave::normalised({formulas.read(formula)}));
    return static_cast<int>(nodes.size());
  });
}

// The gradient of a reduction with respect to operands: for each, the terms to add up.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_pull_back(Rcpp::List reduction, SEXP cotangent, Rcpp::List wrt) {
  return kernweave::at_border([&] {
    kernweave::Formulas formulas;
    const kernweave::ReducedFormula reduced = kernweave::reduced_from_r(reduction, &formulas);
    const kernweave::Expr g = formulas.read(cotangent);
    Rcpp::List out(wrt.size());
    for (R_xlen_t k = 0; k < wrt.size(); ++k) {
      const auto leaves = kernweave::leaves_of_operand(kernweave::roots_of(reduced), formulas.operand_number(wrt[k]));
      const auto terms = kernweave::pull_back(reduced, g, leaves);
      Rcpp::List found;
      for (std::size_t t = 0; t < terms.size(); ++t)
        if (terms[t]) found.push_back(kernweave::gradient_term(leaves[t], terms[t], &formulas));
      out[k] = found;
    }
    return out;
  });
}

// A derivative of a formula at each pair, by its name in texts; the variable is a formula itself, and so is what some
// are taken along.
// [[Rcpp::export(rng = false)]]
SEXP r_derive(std::string name, SEXP formula, SEXP variable, SEXP along) {
  return kernweave::at_border([&]() -> SEXP {
    kernweave::Formulas formulas;
    const kernweave::Derivation* const how = kernweave::find_derivation(name);
    kernweave::internal_check(how && how->along != Rf_isNull(along), "no such derivative: ", name);
    const kernweave::Expr f = formulas.read(formula), v = formulas.read(variable);
    return formulas.write(how->apply(f, v, formulas.read_optional(along)));
  });
}

// The derivative of a reduction along tangents of operands: the term to add up, or NULL.
// [[Rcpp::export(rng = false)]]
SEXP r_push_forward(Rcpp::List reduction, Rcpp::List wrt, Rcpp::List tangents) {
  return kernweave::at_border([&]() -> SEXP {
    kernweave::Formulas formulas;
    const kernweave::ReducedFormula reduced = kernweave::reduced_from_r(reduction, &formulas);
    std::vector<kernweave::Expr> leaves, along;
    for (R_xlen_t k = 0; k < wrt.size(); ++k) {
      const int operand = formulas.operand_number(tangents[k]);
      for (kernweave::Expr leaf :
           kernweave::leaves_of_operand(kernweave::roots_of(reduced), formulas.operand_number(wrt[k]))) {
        const bool gathered = leaf->op == kernweave::Op::Gather;
        const kernweave::Expr read = gathered ? leaf.arg(0) : leaf;
        kernweave::Variable v = kernweave::variable(read);
        v.operand = operand;
        v.name = "tangent";
        const kernweave::Expr tangent = formulas.pool().variable(v);
        leaves.push_back(leaf);
        along.push_back(gathered ? formulas.pool().make(kernweave::Op::Gather, {tangent, leaf.arg(1)}) : tangent);
      }
    }
    const kernweave::Expr term = kernweave::push_forward(reduced, leaves, along);
    return term ? formulas.write(term) : R_NilValue;
  });
}
