// Turns R formulas into graphs and back, without recursion, so formulas may be as deep as memory allows; lazy tensors.
#include "expr/parse.hpp"
#include "expr/node.hpp"
#include "r_call.hpp"

namespace kernweave {

SEXP r_lazy(SEXP formula, SEXP extent, SEXP settings, SEXP pairs);

namespace {

SEXP part(SEXP list, int k, int count = 4, const char* damaged = "a damaged formula") {
  internal_check(TYPEOF(list) == VECSXP && Rf_length(list) == count, damaged);
  return VECTOR_ELT(list, k);
}

Op op_named(SEXP name) {
  internal_check(TYPEOF(name) == STRSXP && Rf_length(name) == 1, "a formula without a name");
  Op op;
  internal_check(find_op(CHAR(STRING_ELT(name, 0)), &op), "no operation named ", CHAR(STRING_ELT(name, 0)));
  return op;
}

Op op_of(SEXP formula) { return op_named(part(formula, 0)); }

std::vector<int> whole_numbers(SEXP a) {
  internal_check(Rf_isNull(a) || TYPEOF(a) == INTSXP, "attributes that are not integers");
  return Rf_isNull(a) ? std::vector<int>() : std::vector<int>(INTEGER(a), INTEGER(a) + Rf_length(a));
}

Type type_of(SEXP formula) {
  const SEXP type = part(formula, 3);
  internal_check(TYPEOF(type) == INTSXP && Rf_length(type) == 3, "a formula without a type");
  const int* t = INTEGER(type);
  return {t[0], static_cast<Kind>(t[1]), {static_cast<std::uint32_t>(t[2])}};
}

// Returns the type of an operation, from the types of its arguments alone. If it has none, the arguments themselves are
// read, for a message that shows them.
Type checked_type(Op op, const List& args, const std::vector<int>& attributes) {
  Pool pool;
  std::vector<Expr> stand_ins;
  for (R_xlen_t k = 0; k < args.size(); ++k) {
    const Type t = type_of(args[k]);
    stand_ins.push_back(pool.variable({"", Axis::param, Source::data, t.width, t.kind, t.axes, static_cast<int>(k)}));
  }
  try {
    return infer(op, stand_ins, attributes);
  } catch (const Failure&) {
    Formulas formulas;
    return infer(op, formulas.read_all(args), attributes);
  }
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
  const Shield<SEXP> safe_args(args), safe_attributes(attributes);
  const Shield<SEXP> formula(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(formula, 0, Rf_mkString(op));
  SET_VECTOR_ELT(formula, 1, args);
  SET_VECTOR_ELT(formula, 2, attributes);
  SET_VECTOR_ELT(formula, 3, type_to_r(type));
  return formula;
}

// Applies an operation to R formulas, and finds its type; failures show the arguments.
SEXP applied(SEXP name, const List& args, SEXP attributes) {
  const Op op = op_named(name);
  return formula_to_r(row(op).name, args, attributes, checked_type(op, args, whole_numbers(attributes)));
}

// --- lazy tensors: (formula, extent, settings, pairs, kept), and how several meet in one operation ------------------
// The code is in C++ since every operator that a user types calls it.

enum LazyField { kFormula, kExtent, kSettings, kPairs, kKept };

SEXP part_of(SEXP lazy, LazyField field) { return part(lazy, field, 5, "a damaged lazy tensor"); }

std::string shown(SEXP lazy) {
  Formulas formulas;
  return show_short(formulas.read(part_of(lazy, kFormula)));
}

double extent_of(SEXP lazy, R_xlen_t axis) {
  const SEXP extent = part_of(lazy, kExtent);
  internal_check(TYPEOF(extent) == REALSXP && Rf_xlength(extent) >= 2, "a damaged extent");
  return axis < Rf_xlength(extent) ? REAL(extent)[axis] : NA_REAL;
}

// Returns the points along an axis, from the arguments that know them, else NA. On batch axes 1 fits any number.
double met_extent(const List& args, R_xlen_t axis) {
  R_xlen_t knows = -1;
  double met = NA_REAL;
  for (R_xlen_t k = 0; k < args.size(); ++k) {
    const double here = extent_of(args[k], axis);
    if (std::isnan(here) || (axis > 1 && here == 1 && knows >= 0)) continue;
    if (knows >= 0 && here != met && !(axis > 1 && met == 1)) {
      const std::string along = axis == 0 ? "i" : axis == 1 ? "j" : sentence("batch axis ", axis - 1);
      fail(Fault::shape, "`", shown(args[knows]), "` has ", met, " points along ", along,
           shown(args[knows]) == shown(args[k]) ? ", but another `" : ", but `", shown(args[k]), "` has ", here);
    }
    knows = k;
    met = here;
  }
  return met;
}

// Merges a field of all arguments. A field that a single argument has set holds for all; if two have, R decides.
SEXP met_list(const List& args, LazyField field, const char* decider) {
  RObject met;
  for (const SEXP lazy : args) {
    const SEXP here = part_of(lazy, field);
    if (Rf_isNull(here) || here == static_cast<SEXP>(met)) continue;
    met = met.isNULL() ? here : static_cast<SEXP>(own_function(decider)(met, here));
  }
  return met;
}

SEXP met_lazy(SEXP formula, const List& args) {
  R_xlen_t axes = 2;  // i, j, and as many batch axes as any argument has
  for (const SEXP lazy : args) axes = std::max(axes, Rf_xlength(part_of(lazy, kExtent)));
  NumericVector extent(axes);
  for (R_xlen_t axis = 0; axis < axes; ++axis) extent[axis] = met_extent(args, axis);
  const RObject settings = met_list(args, kSettings, "merge_settings"), pairs = met_list(args, kPairs, "merge_pairs");
  return r_lazy(formula, extent, settings, pairs);
}

}  // namespace

int Formulas::operand_number(SEXP operand) {
  const auto known = numbers_.emplace(operand, static_cast<int>(operands_.size()));
  if (!known.second) return known.first->second;
  const Environment env(operand);
  operands_.push_back(operand);
  const std::string name = as<std::string>(env["name"]);
  names_.push_back(as<bool>(env["literal"]) ? name : unique_name(name));
  return static_cast<int>(operands_.size()) - 1;
}

// Two operands may have one name; in print their names must differ.
std::string Formulas::unique_name(std::string name) {
  std::string candidate = name;
  for (int& k = taken_[name]; k > 0 && taken_.count(candidate); ++k) candidate = sentence(name, ".", k);
  ++taken_[candidate];
  return candidate;
}

// Returns a number that is written in a formula as a part of it, so that rules see it; null for other operands.
Expr Formulas::read_literal(SEXP operand, const Type& type) {
  const Environment env(operand);
  if (!as<bool>(env["literal"]) || type.kind == Kind::logical) return Expr();
  const double value = as<double>(env["data"]);
  return std::isfinite(value) ? pool_.number(value, type.kind) : Expr();
}

Expr Formulas::read_variable(SEXP formula) {
  const SEXP operand = part(formula, 1);
  const std::vector<int> axis = whole_numbers(part(formula, 2));
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
  return pool_.make(op, read, whole_numbers(part(formula, 2)));
}

Expr Formulas::read(SEXP formula) {
  std::vector<SEXP> todo = {formula};
  while (!todo.empty()) {
    const SEXP top = todo.back();
    bool ready = true;
    const SEXP args = part(top, 1);
    if (const Op op = op_of(top); op != Op::Var && op != Op::Number)
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

std::vector<Expr> Formulas::read_all(const List& formulas) {
  std::vector<Expr> out;
  for (const SEXP formula : formulas) out.push_back(read(formula));
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
  List args(f->args.size());
  for (std::size_t k = 0; k < f->args.size(); ++k) args[k] = written_.at(f->args[k]);
  const SEXP attributes = f->attributes.empty() ? R_NilValue : wrap(f->attributes);
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

// --- doors ----------------------------------------------------------------------------------------------------------

// Makes a lazy tensor, with a place for results that are computed once, see r_kept().
// [[Rcpp::export(rng = false)]]
SEXP r_lazy(SEXP formula, SEXP extent, SEXP settings, SEXP pairs) {
  const char* names[] = {"formula", "extent", "settings", "pairs", "kept", ""};
  const Shield<SEXP> lazy(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(lazy, kFormula, formula);
  SET_VECTOR_ELT(lazy, kExtent, extent);
  SET_VECTOR_ELT(lazy, kSettings, settings);
  SET_VECTOR_ELT(lazy, kPairs, pairs);
  SET_VECTOR_ELT(lazy, kKept, R_MakeExternalPtr(nullptr, Rf_install("kernweave_kept"), R_NilValue));
  Rf_setAttrib(lazy, R_ClassSymbol, Rf_mkString("lazy_tensor"));
  return Rf_asS4(lazy, TRUE, FALSE);
}

// Returns the environment of a lazy tensor's results that are computed once. The tensor holds a pointer, and the
// pointer a weak reference, which is not saved: a tensor's size in a file does not depend on its use, and in a new
// session the environment is empty.
// [[Rcpp::export(rng = false)]]
SEXP r_kept(SEXP lazy) {
  const SEXP pointer = part_of(lazy, kKept);
  internal_check(TYPEOF(pointer) == EXTPTRSXP, "a damaged lazy tensor");
  const SEXP held = R_ExternalPtrProtected(pointer);
  if (TYPEOF(held) == WEAKREFSXP && !Rf_isNull(R_WeakRefValue(held))) return R_WeakRefValue(held);
  const Shield<SEXP> kept(R_NewEnv(R_EmptyEnv, FALSE, 0));
  R_SetExternalPtrProtected(pointer, R_MakeWeakRef(pointer, kept, R_NilValue, FALSE));
  return kept;
}

// [[Rcpp::export(rng = false)]]
SEXP r_apply(SEXP op, List args, SEXP attributes) { return applied(op, args, attributes); }

// Applies an operation to lazy tensors.
// [[Rcpp::export(rng = false)]]
SEXP r_lazy_call(SEXP op, List args, SEXP attributes) {
  List formulas(args.size());
  for (R_xlen_t k = 0; k < args.size(); ++k) formulas[k] = part_of(args[k], kFormula);
  const RObject formula = applied(op, formulas, attributes);
  return met_lazy(formula, args);
}

// Merges lazy tensors without an operation: the formula of the first; the extents, settings and pairs of all.
// [[Rcpp::export(rng = false)]]
SEXP r_meet(List args) { return met_lazy(part_of(args[0], kFormula), args); }

}  // namespace kernweave
