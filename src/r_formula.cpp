// R formulas to graphs and back, without recursion: a formula may be as deep as memory allows.
#include "r_formula.hpp"

#include <cmath>

#include "base/error.hpp"
#include "expr/type.hpp"

namespace kernweave {
namespace {

SEXP part(SEXP formula, int k) {
  internal_check(TYPEOF(formula) == VECSXP && Rf_length(formula) == 4, "a damaged formula");
  return VECTOR_ELT(formula, k);
}

Op op_of(SEXP formula) {
  const SEXP name = part(formula, 0);
  internal_check(TYPEOF(name) == STRSXP && Rf_length(name) == 1, "a formula without a name");
  Op op;
  internal_check(find_op(CHAR(STRING_ELT(name, 0)), &op), "no operation named ", CHAR(STRING_ELT(name, 0)));
  return op;
}

std::vector<int> whole_numbers(SEXP a) {
  internal_check(Rf_isNull(a) || TYPEOF(a) == INTSXP, "attributes that are not integers");
  return Rf_isNull(a) ? std::vector<int>() : std::vector<int>(INTEGER(a), INTEGER(a) + Rf_length(a));
}

std::vector<int> attributes_of(SEXP formula) { return whole_numbers(part(formula, 2)); }

bool is_leaf(Op op) { return op == Op::Var || op == Op::Number; }

// The type of an operation on arguments known by their types alone.
Type quick_type(Op op, const Rcpp::List& args, const std::vector<int>& attributes) {
  Pool pool;
  std::vector<Expr> stand_ins;
  for (R_xlen_t k = 0; k < args.size(); ++k) {
    const Type t = type_of(args[k]);
    const int number = static_cast<int>(k);
    stand_ins.push_back(pool.variable({"", Axis::param, Source::data, t.width, t.kind, t.axes, number}));
  }
  return infer(op, stand_ins, attributes);
}

// Again on the arguments themselves, for a message that shows them.
Type careful_type(Op op, const Rcpp::List& args, const std::vector<int>& attributes) {
  Formulas formulas;
  return infer(op, formulas.read_all(args), attributes);
}

Type checked_type(Op op, const Rcpp::List& args, const std::vector<int>& attributes) {
  try {
    return quick_type(op, args, attributes);
  } catch (const Failure&) {
    return careful_type(op, args, attributes);
  }
}

}  // namespace

Type type_of(SEXP formula) {
  const SEXP type = part(formula, 3);
  internal_check(TYPEOF(type) == INTSXP && Rf_length(type) == 3, "a formula without a type");
  const int* t = INTEGER(type);
  return {t[0], static_cast<Kind>(t[1]), {static_cast<std::uint32_t>(t[2])}};
}

SEXP type_to_r(const Type& type) {
  const SEXP out = Rf_allocVector(INTSXP, 3);
  INTEGER(out)[0] = type.width;
  INTEGER(out)[1] = static_cast<int>(type.kind);
  INTEGER(out)[2] = static_cast<int>(type.axes.bits);
  return out;
}

SEXP formula_to_r(const char* op, SEXP args, SEXP attributes, const Type& type) {
  const char* names[] = {"op", "args", "attributes", "type", ""};
  const Rcpp::Shield<SEXP> safe_args(args), safe_attributes(attributes);
  const Rcpp::Shield<SEXP> formula(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(formula, 0, Rf_mkString(op));
  SET_VECTOR_ELT(formula, 1, args);
  SET_VECTOR_ELT(formula, 2, attributes);
  SET_VECTOR_ELT(formula, 3, type_to_r(type));
  return formula;
}

SEXP applied(const char* name, const Rcpp::List& args, SEXP attributes) {
  Op op;
  internal_check(find_op(name, &op), "no operation named ", name);
  return formula_to_r(row(op).name, args, attributes, checked_type(op, args, whole_numbers(attributes)));
}

int Formulas::operand_number(SEXP operand) {
  const auto known = numbers_.emplace(operand, static_cast<int>(operands_.size()));
  if (!known.second) return known.first->second;
  const Rcpp::Environment env(operand);
  operands_.push_back(operand);
  const std::string name = Rcpp::as<std::string>(env["name"]);
  names_.push_back(Rcpp::as<bool>(env["literal"]) ? name : unique_name(name));
  return static_cast<int>(operands_.size()) - 1;
}

// Two operands may bear one name; in print they must not.
std::string Formulas::unique_name(std::string name) {
  std::string candidate = name;
  for (int& k = taken_[name]; k > 0 && taken_.count(candidate); ++k) candidate = sentence(name, ".", k);
  ++taken_[candidate];
  return candidate;
}

// A number written in a formula is part of it, so that rules can see it; null for other operands.
Expr Formulas::read_literal(SEXP operand, const Type& type) {
  const Rcpp::Environment env(operand);
  if (!Rcpp::as<bool>(env["literal"]) || type.kind == Kind::logical) return Expr();
  const double value = Rcpp::as<double>(env["data"]);
  return std::isfinite(value) ? pool_.number(value, type.kind) : Expr();
}

Expr Formulas::read_variable(SEXP formula) {
  const SEXP operand = part(formula, 1);
  const std::vector<int> axis = attributes_of(formula);
  internal_check(axis.size() == 1 && axis[0] >= 0 && axis[0] <= static_cast<int>(Axis::pair_swapped),
                 "a variable without an axis");
  const Axis along = static_cast<Axis>(axis[0]);
  const Type type = type_of(formula);
  internal_check(type.axes.pairs() == axes_of(along) && type.width >= 1, "a variable whose type is not its axis");
  if (Rf_isNull(operand)) {
    const char* name = along == Axis::i ? "row_index()" : "col_index()";
    return pool_.variable({name, along, Source::counter, 1, Kind::integer, Axes::none(), -1});
  }
  internal_check(TYPEOF(operand) == ENVSXP, "a variable without an operand");
  if (const Expr literal = read_literal(operand, type)) return literal;
  const int number = operand_number(operand);
  return pool_.variable({names_[number], along, Source::data, type.width, type.kind, Axes::none(), number});
}

Expr Formulas::read_node(SEXP formula) {
  const Op op = op_of(formula);
  if (op == Op::Var) return read_variable(formula);
  const SEXP args = part(formula, 1);
  if (op == Op::Number) return pool_.number(Rf_asReal(args), type_of(formula).kind);
  std::vector<Expr> read;
  for (R_xlen_t k = 0; k < Rf_xlength(args); ++k) read.push_back(exprs_.at(VECTOR_ELT(args, k)));
  return pool_.make(op, read, attributes_of(formula));
}

Expr Formulas::read(SEXP formula) {
  std::vector<SEXP> todo = {formula};
  while (!todo.empty()) {
    const SEXP top = todo.back();
    bool ready = true;
    const SEXP args = part(top, 1);
    if (!is_leaf(op_of(top)))
      for (R_xlen_t k = Rf_xlength(args); k-- > 0;)
        if (!exprs_.count(VECTOR_ELT(args, k))) {
          todo.push_back(VECTOR_ELT(args, k));
          ready = false;
        }
    if (!ready) continue;
    todo.pop_back();
    if (!exprs_.count(top)) exprs_[top] = read_node(top);
  }
  return exprs_.at(formula);
}

std::vector<Expr> Formulas::read_all(const Rcpp::List& formulas) {
  std::vector<Expr> out;
  for (R_xlen_t k = 0; k < formulas.size(); ++k) out.push_back(read(formulas[k]));
  return out;
}

Expr Formulas::read_optional(SEXP formula) { return Rf_isNull(formula) ? Expr() : read(formula); }

SEXP Formulas::write_node(Expr f) {
  if (f->op == Op::Number) return formula_to_r("Number", Rf_ScalarReal(f->number), R_NilValue, f->type);
  if (f->op == Op::Var) {
    const Variable& v = variable(f);
    const SEXP operand = v.operand < 0 ? R_NilValue : operands_[v.operand];
    return formula_to_r("Var", operand, Rf_ScalarInteger(static_cast<int>(v.axis)), f->type);
  }
  Rcpp::List args(f->args.size());
  for (std::size_t k = 0; k < f->args.size(); ++k) args[k] = written_.at(f->args[k]);
  const SEXP attributes = f->attributes.empty() ? R_NilValue : Rcpp::wrap(f->attributes);
  return formula_to_r(row(f->op).name, args, attributes, f->type);
}

SEXP Formulas::write(Expr f) {
  for (Expr node : reachable({f})) {
    if (written_.count(node.get())) continue;
    keep_.emplace_back(write_node(node));
    written_[node.get()] = keep_.back();
  }
  return written_.at(f.get());
}

Rcpp::List Formulas::operands() const { return Rcpp::List(operands_.begin(), operands_.end()); }

}  // namespace kernweave
