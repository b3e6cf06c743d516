// Makes the normal form: aliases become their formulas, read as algebra; t(f) and f[rows, ] become f on other leaves;
// differences get a common centre.
#include "expr/rewrite.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/error.hpp"
#include "expr/build.hpp"
#include "expr/parse.hpp"
#include "expr/type.hpp"

namespace kernweave {
namespace {

// Returns the squared norm of f by a metric: isotropic, a number for each component, or a whole symmetric matrix.
Expr metric(Expr by, Expr f) {
  if (width(by) == 1) return by * sqnorm2(f);
  if (width(by) == width(f)) return sum(by * square(f));
  user_check(width(by) == width(f) * width(f), Fault::shape, "a metric of ", width(by), " numbers for ", width(f),
             " components: 1, ", width(f), " or ", width(f) * width(f), " are needed");
  return scalprod(f, matvecmult(by, f));
}

// Returns an angle of a point on a sphere.
Expr angle_of(Expr point, int which) {
  user_check(width(point) == 2, Fault::shape, "a point on a sphere has a latitude and a longitude, not ", width(point),
             width(point) == 1 ? " component" : " components");
  return elem(point, which);
}
Expr latitude(Expr point) { return angle_of(point, 1); }
Expr longitude(Expr point) { return angle_of(point, 2); }

// Returns x, repeated to the width of y if x has one component.
Expr alike(Expr x, Expr y) { return width(x) == 1 && width(y) > 1 ? sumt(x, width(y)) : x; }

// Returns a whole power; x^0 is 1 for all x, NaN too.
Expr whole_power_of(Expr x, int n) { return n == 0 ? lazy_if(equal(x, x), 1, 1) : whole_power(x, n); }

Expr kronecker(Expr x, Expr y, Attributes lists) {
  const std::vector<int> dims_x = lists.list(), dims_y = lists.list();
  return kronecker(x, y, dims_x, dims_y);
}
Expr tensor_dot(Expr x, Expr y, Attributes lists) {
  return tensor_dot(x, y, Contraction{lists.list(), lists.list(), lists.list(), lists.list(), lists.list()});
}

// --- leaves --------------------------------------------------------------------------------------------------------

// Rebuilds a formula on other leaves. A gather stays with its variable; its row numbers are remade.
template <class Leaf>
Expr on_leaves(Expr f, Leaf leaf) {
  return rebuild({f}, [&](Expr node, const std::vector<Expr>& args) {
    if (node->op == Op::Var) return leaf(node);
    if (node->op == Op::Gather) return node->pool->make(Op::Gather, {node.arg(0), args[1]});
    return remade(node, args);
  })[0];
}

Expr swap_axes(Expr f) {
  return on_leaves(f, [](Expr leaf) {
    Variable v = variable(leaf);
    v.axis = swapped(v.axis);
    return leaf->pool->variable(v);
  });
}

Expr take_rows(Expr f, bool along_i, Expr rows) {
  return on_leaves(f, [&](Expr leaf) {
    const Variable& v = variable(leaf);
    const bool pairwise = v.axis == Axis::pair || v.axis == Axis::pair_swapped;
    user_check(!pairwise, Fault::unsupported, "rows of the matrix of pairs `", v.name,
               "` cannot be taken lazily yet; take them from the matrix before Vij()");
    if (v.axis != (along_i ? Axis::i : Axis::j)) return leaf;
    if (v.source == Source::counter) return rows;
    return leaf->pool->make(Op::Gather, {leaf, rows});
  });
}

// Normalises an alias. Its formula may hold aliases again; its arguments are already normalised and are not visited.
// Shared parts are normalised once: written as a tree, a formula that is made step by step has no end.
Expr normalised_alias(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes);

using Normalised = std::unordered_map<const Node*, Expr>;

Expr normalised_part(Expr part, Normalised* normalised) {
  if (part->args.empty()) return part;
  const auto known = normalised->find(part.get());
  if (known != normalised->end()) return known->second;
  std::vector<Expr> args;
  for (std::size_t k = 0; k < part->args.size(); ++k) args.push_back(normalised_part(part.arg(k), normalised));
  const Expr made =
      row(part->op).form == Form::alias ? normalised_alias(part->op, args, part->attributes) : remade(part, args);
  normalised->emplace(part.get(), made);
  return made;
}

Expr normalised_alias(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes) {
  Normalised normalised;
  for (Expr arg : args) normalised.emplace(arg.get(), arg);
  return normalised_part(expanded_alias(op, args, attributes), &normalised);
}

template <bool for_derivatives>
Expr normalised_node(Expr node, const std::vector<Expr>& args) {
  const OpRow& r = row(node->op);
  const bool stays = for_derivatives && r.has_own_adjoint;
  if (r.form == Form::alias && !stays) return normalised_alias(node->op, args, node->attributes);
  if (node->op == Op::Swap) return swap_axes(args[0]);
  if (node->op == Op::Take) return take_rows(args[0], node->attributes[0] == 0, args[1]);
  return remade(node, args);
}

}  // namespace

Expr expanded_alias(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes) {
  [[maybe_unused]] const Expr x = args[0];
  [[maybe_unused]] const Expr y = args.size() > 1 ? args[1] : Expr();
  [[maybe_unused]] const Expr z = args.size() > 2 ? args[2] : Expr();
  [[maybe_unused]] const int a0 = attributes.empty() ? 0 : attributes[0];
  [[maybe_unused]] const int a1 = attributes.size() > 1 ? attributes[1] : 0;
  [[maybe_unused]] const Attributes lists(attributes);
  switch (op) {
#define ALIAS1(Name, fn, attributes, formula, ...) \
  case Op::Name: return formula;
#define ALIAS2(Name, fn, attributes, formula, ...) \
  case Op::Name: return formula;
#define ALIAS3(Name, fn, attributes, formula, ...) \
  case Op::Name: return formula;
#include "kernweave/ops.def"
    default: break;
  }
  fail(Fault::internal, row(op).name, " is not an alias");
}

std::vector<Expr> normalised(const std::vector<Expr>& formulas) { return rebuild(formulas, normalised_node<false>); }

Expr normalised_for_derivatives(Expr f) { return rebuild({f}, normalised_node<true>)[0]; }

// --- centres -------------------------------------------------------------------------------------------------------
// Leaves are made anew, with the operand relative to whose centre they are read.

namespace {

// Tells whether f is a variable of numbers, read directly or by row numbers.
bool is_reading(Expr f) {
  if (f->op == Op::Gather) return is_reading(f.arg(0));
  return f->op == Op::Var && variable(f).source == Source::data && variable(f).kind == Kind::real;
}

// Tells whether a reading has a middle. A parameter is one point and has none.
bool has_middle(Expr reading) { return variable(variable_read(reading)).axis != Axis::param; }

// Tells whether both are readings that may be relative to one centre. False if both are parameters, or if one is a
// counter.
bool have_common_centre(Expr a, Expr b) {
  return is_reading(a) && is_reading(b) && width(a) == width(b) && (has_middle(a) || has_middle(b));
}

}  // namespace

Expr variable_read(Expr reading) { return reading->op == Op::Gather ? reading.arg(0) : reading; }

int common_centre(Expr a, Expr b) {
  const int of_a = variable(variable_read(a)).operand, of_b = variable(variable_read(b)).operand;
  if (!has_middle(a)) return of_b;
  return has_middle(b) ? std::min(of_a, of_b) : of_a;
}

Expr centred(Expr reading, int centre) {
  if (reading->op == Op::Gather)
    return reading->pool->make(Op::Gather, {centred(reading.arg(0), centre), reading.arg(1)});
  Variable v = variable(reading);
  v.centre = centre;
  return reading->pool->variable(v);
}

bool is_parameter(Expr f) { return f->type.axes.empty(); }

ScaledPoints side_of(Expr f) {
  if (f->op != Op::Mult) return {f, Expr()};
  return is_parameter(f.arg(0))   ? ScaledPoints{f.arg(1), f.arg(0)}
         : is_parameter(f.arg(1)) ? ScaledPoints{f.arg(0), f.arg(1)}
                                  : ScaledPoints{f, Expr()};
}

namespace {

bool are_across(const ScaledPoints& a, const ScaledPoints& b) {
  const auto along = [](const ScaledPoints& side, Axes axes) { return side.reading->type.axes == axes; };
  return (along(a, Axes::i()) && along(b, Axes::j())) || (along(a, Axes::j()) && along(b, Axes::i()));
}

}  // namespace

bool is_distance_across(Expr f) {
  if (f->op != Op::SqDist) return false;
  const ScaledPoints a = side_of(f.arg(0)), b = side_of(f.arg(1));
  return are_across(a, b) && a.scale == b.scale && have_common_centre(a.reading, b.reading);
}

bool is_inner_across(Expr f) {
  if (f->op != Op::Scalprod) return false;
  const ScaledPoints a = side_of(f.arg(0)), b = side_of(f.arg(1));
  return are_across(a, b) && have_common_centre(a.reading, b.reading);
}

std::vector<Expr> centre_differences(const std::vector<Expr>& formulas) {
  return rebuild(formulas, [](Expr f, const std::vector<Expr>& args) {
    if (!row(f->op).differences || !have_common_centre(args[0], args[1])) return remade(f, args);
    const int centre = common_centre(args[0], args[1]);
    return f->pool->make(f->op, {centred(args[0], centre), centred(args[1], centre)}, f->attributes);
  });
}

// --- check ---------------------------------------------------------------------------------------------------------
// The specification of a normalised graph.

namespace {

std::vector<Expr> args_of(Expr f) {
  std::vector<Expr> args;
  for (std::size_t k = 0; k < f->args.size(); ++k) args.push_back(f.arg(k));
  return args;
}

// Describes the fault of a node; null: no fault.
const char* fault_of(Expr f) {
  const bool gather = f->op == Op::Gather;
  if (gather && f.arg(0)->op != Op::Var) return "a gather of no variable";
  if (!gather && row(f->op).form == Form::structural) return "an unnormalised transpose or subset";
  if (row(f->op).form == Form::alias) return "an alias left over";
  if (!(infer(f->op, args_of(f), f->attributes) == f->type)) return "a node of the wrong type";
  for (const Node* arg : f->args)
    if (arg->id >= f->id) return "a node before its argument";
  return nullptr;
}

}  // namespace

void check_normalised(const std::vector<Expr>& formulas) {
  for (Expr f : reachable(formulas)) {
    if (f->op == Op::Var || f->op == Op::Number) continue;
    const char* fault = fault_of(f);
    if (fault) internal_check(false, fault, ": ", show_short(f));
  }
}

}  // namespace kernweave
