// Formulas for R: makes nodes, reads and writes text, computes gradients, and finds loops of index formulas.
#include <set>

#include "axes/paths.hpp"
#include "expr/build.hpp"
#include "expr/grad.hpp"
#include "expr/parse.hpp"
#include "expr/rewrite.hpp"
#include "r_call.hpp"

namespace kernweave {
namespace {

// Reads one reduction from R, list(value, weight, op, result, saved, here), and normalises it.
ReducedFormula reduced_from_r(const List& from, Formulas* formulas) {
  const Expr weight = formulas->read_optional(from["weight"]);
  const Expr result = formulas->read_optional(from["result"]);
  const Expr saved = formulas->read_optional(from["saved"]);
  const Expr here = formulas->read_optional(from["here"]);
  const Expr value = normalised_for_derivatives(formulas->read(from["value"]));
  const std::string name = from["op"];
  Red red;
  user_check(find_red(name, &red), Fault::unknown_op, "unknown reduction `", name, "`");
  return {red, value, weight ? normalised_for_derivatives(weight) : weight, result, saved, here};
}

std::vector<Expr> roots_of(const ReducedFormula& reduced) {
  return reduced.w ? std::vector<Expr>{reduced.x, reduced.w} : std::vector<Expr>{reduced.x};
}

// Returns the axis that the gradient of a leaf keeps: the leaf's axis.
const char* kept_by(Expr leaf) {
  const Axes axes = leaf->type.axes.pairs();
  return axes == Axes::i() ? "i" : axes == Axes::j() ? "j" : axes.empty() ? "none" : "both";
}

// Returns one term of an operand's gradient: the formula to add up; the axis that it keeps; for a gathered operand, its
// row numbers; and whether a matrix of pairs was read by columns.
List gradient_term(Expr leaf, Expr term, Formulas* formulas) {
  const bool gathered = leaf->op == Op::Gather;
  user_check(!gathered || leaf->type.axes.pairs() != Axes::ij(), Fault::unsupported, "the gradient of `",
             show_short(leaf), "`, gathered along both axes, is not built yet");
  return List::create(_["value"] = formulas->write(term), _["keep"] = kept_by(leaf),
                      _["rows"] = gathered ? formulas->write(leaf.arg(1)) : R_NilValue,
                      _["transposed"] = leaf->op == Op::Var && variable(leaf).axis == Axis::pair_swapped);
}

axes::AxisSet set_from_r(const std::vector<int>& numbers) {
  axes::AxisSet set = 0;
  for (const int axis : numbers) set |= axes::set_of(axis);
  return set;
}

RObject path_to_r(const axes::Path& path) {
  if (!path.left) return wrap(path.factor + 1);
  return List::create(path_to_r(*path.left), path_to_r(*path.right));
}

}  // namespace

// [[Rcpp::export(rng = false)]]
SEXP r_whole_power(SEXP formula, int exponent) {
  Formulas formulas;
  return formulas.write(whole_power(formulas.read(formula), exponent));
}

// [[Rcpp::export(rng = false)]]
SEXP r_bar(SEXP a, SEXP b) {
  Formulas formulas;
  const Expr left = formulas.read(a), right = formulas.read(b);
  return formulas.write(bar(left, right));
}

// [[Rcpp::export(rng = false)]]
std::string r_show(SEXP formula, int budget) {
  Formulas formulas;
  return show(formulas.read(formula), static_cast<std::size_t>(budget));
}

// [[Rcpp::export(rng = false)]]
List r_operands(List formulas) {
  Formulas read;
  read.read_all(formulas);
  return read.operands();
}

// Returns formulas with operands replaced by other operands, or by formulas.
// [[Rcpp::export(rng = false)]]
List r_with_operands(List formulas, List operands, List others) {
  Formulas read;
  const std::vector<Expr> before = read.read_all(formulas);
  std::unordered_map<int, Expr> instead;
  for (R_xlen_t k = 0; k < operands.size(); ++k)
    if (TYPEOF(others[k]) == ENVSXP) read.replace_operand(operands[k], others[k]);
    else instead[read.operand_number(operands[k])] = read.read(others[k]);
  const auto remake = [&](Expr f, const std::vector<Expr>& args) {
    const auto found = f->op == Op::Var ? instead.find(variable(f).operand) : instead.end();
    return found == instead.end() ? remade(f, args) : found->second;
  };
  List out;
  for (const Expr f : rebuild(before, remake)) out.push_back(read.write(f));
  return out;
}

// Finds the first place of each object among others, counted from 1: the object itself, not an equal object.
// [[Rcpp::export(rng = false)]]
IntegerVector r_match(List objects, List among) {
  std::unordered_map<SEXP, int> places;
  for (R_xlen_t k = 0; k < among.size(); ++k) places.emplace(VECTOR_ELT(among, k), static_cast<int>(k) + 1);
  IntegerVector out(objects.size());
  for (R_xlen_t k = 0; k < objects.size(); ++k) {
    const auto found = places.find(VECTOR_ELT(objects, k));
    out[k] = found == places.end() ? NA_INTEGER : found->second;
  }
  return out;
}

// Returns the operands that a formula reads directly along axes of pairs, in their order, and these axes (by R's
// codes). Gathered operands are not included, but the row numbers by which they are gathered are.
// [[Rcpp::export(rng = false)]]
List r_read_along(SEXP formula) {
  Formulas formulas;
  const Expr root = normalised({formulas.read(formula)})[0];
  std::set<std::pair<int, int>> found;
  const auto note = [&](Expr f) {
    if (f->op != Op::Var || f->type.axes.pairs().empty()) return;
    const Variable& v = variable(f);
    if (v.source == Source::data) found.emplace(v.operand, static_cast<int>(v.axis));
  };
  note(root);
  for (Expr f : reachable({root}))
    for (std::size_t k = f->op == Op::Gather ? 1 : 0; k < f->args.size(); ++k) note(f.arg(k));
  const List all = formulas.operands();
  List operands;
  IntegerVector axes;
  for (const auto& [operand, axis] : found) {
    operands.push_back(all[operand]);
    axes.push_back(axis);
  }
  return listed({"operands", "axes"}, operands, axes);
}

// [[Rcpp::export(rng = false)]]
List r_parse(std::string text, CharacterVector names, List values, bool keops = false) {
  Formulas formulas;
  std::unordered_map<std::string, R_xlen_t> places;
  for (R_xlen_t k = 0; k < names.size(); ++k) places.emplace(CHAR(STRING_ELT(names, k)), k);
  const NameLookup scope = [&](const std::string& name) {
    const auto found = places.find(name);
    return found == places.end() ? Expr() : formulas.read(values[found->second]);
  };
  const Parsed parsed = parse(text, &formulas.pool(), scope, keops ? Grammar::keops : Grammar::ours);
  return List::create(_["formula"] = formulas.write(parsed.formula), _["reduction"] = parsed.reduction,
                      _["K"] = parsed.places, _["axis"] = parsed.axis, _["folded"] = parsed.folded,
                      _["weight"] = parsed.weight ? formulas.write(parsed.weight) : R_NilValue);
}

// [[Rcpp::export(rng = false)]]
List r_parse_declaration(std::string text) {
  const Declaration d = parse_declaration(text);
  return listed({"name", "axis", "width", "place"}, d.name, static_cast<int>(d.axis), d.width, d.place);
}

// [[Rcpp::export(rng = false)]]
int r_size(SEXP formula) {
  Formulas formulas;
  return static_cast<int>(reachable(normalised({formulas.read(formula)})).size());
}

// Returns the gradient of a reduction with respect to operands: for each operand, the terms to add up.
// [[Rcpp::export(rng = false)]]
List r_pull_back(List reduction, SEXP cotangent, List wrt) {
  Formulas formulas;
  const ReducedFormula reduced = reduced_from_r(reduction, &formulas);
  const Expr g = formulas.read(cotangent);
  List out;
  for (const RObject operand : wrt) {
    const auto leaves = leaves_of_operand(roots_of(reduced), formulas.operand_number(operand));
    const auto terms = pull_back(reduced, g, leaves);
    List found;
    for (std::size_t t = 0; t < terms.size(); ++t)
      if (terms[t]) found.push_back(gradient_term(leaves[t], terms[t], &formulas));
    out.push_back(found);
  }
  return out;
}

// Returns a derivative of a formula at each pair, by its name in texts; variable and direction are formulas.
// [[Rcpp::export(rng = false)]]
SEXP r_derive(std::string name, SEXP formula, SEXP variable, SEXP along) {
  Formulas formulas;
  const Derivation* const how = find_derivation(name);
  internal_check(how && how->along != Rf_isNull(along), "no such derivative: ", name);
  const Expr f = formulas.read(formula), v = formulas.read(variable);
  return formulas.write(how->apply(f, v, formulas.read_optional(along)));
}

// Returns the derivative of a reduction along tangents of operands: the term to add up, or NULL.
// [[Rcpp::export(rng = false)]]
SEXP r_push_forward(List reduction, List wrt, List tangents) {
  Formulas formulas;
  const ReducedFormula reduced = reduced_from_r(reduction, &formulas);
  std::vector<Expr> leaves, along;
  for (R_xlen_t k = 0; k < wrt.size(); ++k) {
    const int operand = formulas.operand_number(tangents[k]);
    for (Expr leaf : leaves_of_operand(roots_of(reduced), formulas.operand_number(wrt[k]))) {
      const bool gathered = leaf->op == Op::Gather;
      const Expr read = gathered ? leaf.arg(0) : leaf;
      Variable v = variable(read);
      v.operand = operand;
      v.name = "tangent";
      const Expr tangent = formulas.pool().variable(v);
      leaves.push_back(leaf);
      along.push_back(gathered ? formulas.pool().make(Op::Gather, {tangent, leaf.arg(1)}) : tangent);
    }
  }
  const Expr term = push_forward(reduced, leaves, along);
  return term ? formulas.write(term) : R_NilValue;
}

// --- loops of index formulas: axes by number from 0; an axis within a nest is -1 ------------------------------------

// Returns the nests of a formula with places, each list(axes, dimensions, has_components, width, numbers): columns of
// axes, and the expected seconds of each nest. `allowed`: the fold needs no order, an axis may become components, two
// kept axes may be lane and columns.
// [[Rcpp::export(rng = false)]]
List r_nests(List places, std::vector<double> extents, std::vector<int> kept, LogicalVector allowed, double operations,
             bool product) {
  axes::IndexFormula formula{extents, kept, {}, allowed[0] == TRUE, allowed[1] == TRUE, allowed[2] == TRUE, operations,
                             product};
  for (const List place : places)
    formula.places.push_back({set_from_r(place["axes"]), place["dimensions"], place["has_components"], place["width"],
                              place["numbers"]});
  const std::vector<axes::Nest> nests = axes::nests_of(formula);
  using Nest = axes::Nest;
  return table(nests, {"lane", "sweep", "components", "columns", "seconds"}, &Nest::lane, &Nest::sweep,
               &Nest::components, &Nest::columns, &Nest::seconds);
}

// Returns the cheapest path of factors with these axes, as pairs within pairs; NULL if one pass, which takes `seconds`,
// is as good.
// [[Rcpp::export(rng = false)]]
RObject r_path(List factors, std::vector<int> kept, std::vector<double> extents, double seconds) {
  std::vector<axes::AxisSet> sets;
  for (const RObject factor : factors) sets.push_back(set_from_r(as<std::vector<int>>(factor)));
  const auto path = axes::cheapest_path(sets, set_from_r(kept), extents, seconds);
  return path ? path_to_r(*path) : RObject();
}

}  // namespace kernweave
