// Reverse mode walks a formula from its result to its leaves. Forward mode is reverse mode transposed,
// node by node: an adjoint is linear in its incoming cotangent, so the adjoint of the adjoint is the differential.
// Hence one set of columns in ops.def serves both, for element-wise rows, folds and loops alike.
// A flow back through a choice is selected last: see guard.hpp.
#include "expr/grad.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.hpp"
#include "expr/build.hpp"
#include "expr/guard.hpp"
#include "expr/parse.hpp"
#include "expr/rewrite.hpp"

namespace kernweave {
namespace {

struct NoGradient {};
NoGradient none() { return {}; }

// The adjoint of one argument: the formula that flows back into it; null: none.
struct Adjoint {
  Adjoint(NoGradient) {}
  Adjoint(Expr f) : f(f) {}
  Expr f;
};

// Returns x^(y - 1), the slope of a power divided by y; 0 at 0 for exponents from 0 to less than 1 (roots).
Expr power_below(Expr x, Expr y) {
  const Expr power = powf(x, y - 1);
  const bool known = y->op == Op::Number;
  if (known && y->number == 0.5) return rsqrt(x);
  if (known && !(y->number >= 0 && y->number < 1)) return power;
  return lazy_if(known ? equal(x, 0) : equal(abs(x) + abs(floor(y)), 0), 0, power);
}

// The adjoint columns of a row, one entry per argument.
std::vector<Adjoint> adjoints(Expr r, Expr g) {
  [[maybe_unused]] const Expr x = r->args.size() > 0 ? r.arg(0) : Expr();
  [[maybe_unused]] const Expr y = r->args.size() > 1 ? r.arg(1) : Expr();
  [[maybe_unused]] const Expr z = r->args.size() > 2 ? r.arg(2) : Expr();
  [[maybe_unused]] const int a0 = r->attributes.empty() ? 0 : r->attributes[0];
  [[maybe_unused]] const int a1 = r->attributes.size() > 1 ? r->attributes[1] : 0;
  [[maybe_unused]] const std::vector<int> places = first_list(r->attributes, row(r->op).attributes);
  switch (r->op) {
#define UNARY(Name, fn, kind, value, dx, ...) \
  case Op::Name: return {dx};
#define BINARY(Name, fn, kind, value, dx, dy, ...) \
  case Op::Name: return {dx, dy};
#define TERNARY(Name, fn, kind, value, dx, dy, dz, ...) \
  case Op::Name: return {dx, dy, dz};
#define FOLD1(Name, fn, kind, first, following, dx, ...) \
  case Op::Name: return {dx};
#define FOLD2(Name, fn, kind, first, following, dx, dy, ...) \
  case Op::Name: return {dx, dy};
#define LOOP1(Name, fn, kind, width, attributes, dx, ...) \
  case Op::Name: return {dx};
#define LOOP2(Name, fn, kind, width, attributes, dx, dy, ...) \
  case Op::Name: return {dx, dy};
#define SMOOTH1(Name, fn, formula, dx, ...) \
  case Op::Name: return {dx};
#include "kernweave/ops.def"
    default: fail(Fault::internal, "no adjoint for ", row(r->op).name);
  }
}

bool depends_on_args(Expr f) { return f->op != Op::Gather; }

using NodeSet = std::unordered_set<const Node*>;

// The nodes of `order` (arguments first) that lead to a target.
NodeSet active_nodes(const std::vector<Expr>& order, const std::vector<Expr>& targets) {
  NodeSet active;
  for (Expr target : targets) active.insert(target.get());
  for (Expr f : order) {
    const auto leads = [&](const Node* arg) { return active.count(arg) > 0; };
    if (depends_on_args(f) && std::any_of(f->args.begin(), f->args.end(), leads)) active.insert(f.get());
  }
  return active;
}

// Makes a variable that no other variable equals, to be differentiated away again.
Expr dummy_like(Expr f) {
  const int nobodys_operand = -1000 - f->id;
  return f->pool->variable({"g", Axis::param, Source::data, width(f), Kind::real, Axes::none(), nobodys_operand});
}

// Tells whether the adjoint of the k-th argument only moves components, and reads no other formula.
bool moves(Expr f, std::size_t k) { return row(f->op).adjoint_reads[k].empty(); }

// The map from incoming cotangents to sums, and from a node's adjoint to its arguments.
class Reverse {
 public:
  explicit Reverse(NodeSet active) : active_(std::move(active)) {}

  void add(Expr to, Flow amount) {
    const Flow part = guards_.fitted(guards_.peeled(amount), width(to));
    Flow& total = cotangent_[to.get()];
    total = total.amount ? guards_.sum(total, part) : part;
  }

  void flow(Expr f) {
    const auto found = cotangent_.find(f.get());
    if (found == cotangent_.end() || f->args.empty() || !depends_on_args(f)) return;
    const Flow in = Guards::ends_at(f) ? Flow{guards_.selected(found->second)} : found->second;
    if (row(f->op).form == Form::loop && guards_.is_wide(in.guard)) return flow_through_loop(f, in);
    const std::vector<Adjoint> back = adjoints(f, in.amount);
    for (std::size_t k = 0; k < back.size(); ++k) add_to_argument(f, k, {back[k].f, in.guard});
  }

  Expr at(Expr f) {
    const auto found = cotangent_.find(f.get());
    return found == cotangent_.end() ? Expr() : guards_.selected(found->second);
  }

 private:
  void add_to_argument(Expr f, std::size_t k, Flow amount) {
    if (amount.amount && active_.count(f->args[k])) add(f.arg(k), amount);
  }

  // Lets a flow whose components have their own tests through a loop. If the loop only moves components, the tests move
  // with them; else an argument gets a flow where the test of any component is true.
  void flow_through_loop(Expr f, const Flow& in) {
    const int outer = guards_.narrow(in.guard);
    const Expr tests = guards_.test_of(in.guard, outer);
    const std::vector<Adjoint> back = adjoints(f, guards_.selected(in, outer));
    for (std::size_t k = 0; k < back.size(); ++k) {
      if (!back[k].f) continue;
      const Expr moved = moves(f, k) ? less_than(0, adjoints(f, tests)[k].f) : any_component(tests);
      add_to_argument(f, k, {back[k].f, guards_.inside(outer, moved, true)});
    }
  }

  NodeSet active_;
  Guards guards_;
  std::unordered_map<const Node*, Flow> cotangent_;
};

// The differential of one node along the tangent of its k-th argument.
Expr transposed(Expr f, std::size_t k, Expr tangent) {
  const Expr g = dummy_like(f);
  const Expr back = adjoints(f, g)[k].f;
  if (!back) return Expr();
  return pull_back(fitted(back, width(f.arg(k))), tangent, {g}, g->id)[0];
}

Expr plus(Expr a, Expr b) { return !a ? b : !b ? a : a + b; }

// The adjoints of a reduction's row: of its formula and of its weight.
struct GradientColumns {
  Adjoint x;
  Adjoint w;
};

GradientColumns columns(const ReducedFormula& reduced, Expr g) {
  const Expr x = reduced.x;
  [[maybe_unused]] const Expr w = reduced.w ? reduced.w : x->pool->number(1);
  [[maybe_unused]] const Expr r = reduced.r;
  [[maybe_unused]] const Expr s = reduced.s;
  switch (reduced.red) {
#define REDUCTION(Name, fn, inputs, results, kind, saves, dx, dw, ...) \
  case Red::Name: return {dx, dw};
#include "kernweave/reductions.def"
    case Red::count: break;
  }
  fail(Fault::internal, "no gradient column");
}

GradientColumns gradient_columns(const ReducedFormula& reduced, Expr g) {
  const GradientColumns back = columns(reduced, g);
  user_check(static_cast<bool>(back.x.f), Fault::no_gradient, row(reduced.red).fn,
             "() has no gradient: its result does not vary smoothly with the formula");
  return back;
}

// Leaves out terms that lost, instead of multiplying them by 0: they may be infinite.
Expr where_it_counts(const ReducedFormula& reduced, Expr term) {
  return term && reduced.here ? lazy_if(reduced.here, term, 0) : term;
}

}  // namespace

std::vector<Expr> leaves_of_operand(const std::vector<Expr>& formulas, int operand) {
  std::vector<Expr> found;
  const auto note = [&](Expr leaf, Expr var) {
    const bool known = std::find(found.begin(), found.end(), leaf) != found.end();
    if (var->op == Op::Var && variable(var).operand == operand && !known) found.push_back(leaf);
  };
  for (Expr root : formulas) note(root, root);
  for (Expr f : reachable(formulas)) {
    if (f->op == Op::Gather) note(f, f.arg(0));
    else
      for (const Node* arg : f->args) note(Expr(arg), Expr(arg));
  }
  return found;
}

std::vector<Expr> pull_back(Expr f, Expr cotangent, const std::vector<Expr>& targets, int since) {
  const std::vector<Expr> order = reachable({f}, since);
  Reverse reverse(active_nodes(order, targets));
  reverse.add(f, {cotangent});
  for (auto node = order.rbegin(); node != order.rend(); ++node) reverse.flow(*node);
  std::vector<Expr> out;
  for (Expr target : targets) out.push_back(reverse.at(target));
  return out;
}

Expr push_forward(Expr f, const std::vector<Expr>& targets, const std::vector<Expr>& tangents) {
  std::unordered_map<const Node*, Expr> along;
  for (std::size_t k = 0; k < targets.size(); ++k) along[targets[k].get()] = tangents[k];
  for (Expr node : reachable({f})) {
    if (along.count(node.get()) || !depends_on_args(node)) continue;
    Expr total;
    for (std::size_t k = 0; k < node->args.size(); ++k) {
      const auto tangent = along.find(node->args[k]);
      if (tangent != along.end()) total = plus(total, transposed(node, k, tangent->second));
    }
    if (total) along[node.get()] = total;
  }
  const auto found = along.find(f.get());
  return found == along.end() ? Expr() : found->second;
}

std::vector<Expr> pull_back(const ReducedFormula& reduced, Expr cotangent, const std::vector<Expr>& targets) {
  const GradientColumns back = gradient_columns(reduced, cotangent);
  std::vector<Expr> out = pull_back(reduced.x, back.x.f, targets);
  std::vector<Expr> through_weight(out.size());
  if (reduced.w && back.w.f) through_weight = pull_back(reduced.w, back.w.f, targets);
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = where_it_counts(reduced, plus(out[k], through_weight[k]));
  return out;
}

Expr push_forward(const ReducedFormula& reduced, const std::vector<Expr>& targets, const std::vector<Expr>& tangents) {
  const GradientColumns slope = gradient_columns(reduced, reduced.x->pool->number(1));
  const Expr dx = push_forward(reduced.x, targets, tangents);
  const Expr dw = reduced.w ? push_forward(reduced.w, targets, tangents) : Expr();
  const Expr by_value = dx ? slope.x.f * dx : Expr();
  const Expr by_weight = dw && slope.w.f ? slope.w.f * dw : Expr();
  return where_it_counts(reduced, plus(by_value, by_weight));
}

// --- a formula at each pair ----------------------------------------------------------------------------------------
// Both modes at one leaf, and derivatives that are made of them component by component.

namespace {

Expr as_wide_as(Expr f, int n, const char* what) {
  user_check(width(f) == 1 || width(f) == n, Fault::shape, what, " `", show_short(f), "` has ", width(f),
             " components, not ", n);
  return width(f) < n ? sumt(f, n) : f;
}

Expr zero(Pool* pool, int n) {
  const Expr number = pool->number(0, Kind::real);
  return n == 1 ? number : sumt(number, n);
}

Expr unit_vector(Pool* pool, int k, int n) {
  Expr e = pool->number(1, Kind::real);
  if (k > 0) e = concat(zero(pool, k), e);
  return k + 1 < n ? concat(e, zero(pool, n - k - 1)) : e;
}

// Returns the leaf by which the formula reads the variable, or null. A formula must read it in one way, so that there
// is one derivative at each pair.
Expr only_leaf(Expr normalised, Expr variable_leaf) {
  user_check(variable_leaf->op == Op::Var && variable(variable_leaf).source == Source::data, Fault::unsupported, "`",
             show_short(variable_leaf), "` is no variable, so nothing can be derived in it");
  const std::vector<Expr> leaves = leaves_of_operand({normalised}, variable(variable_leaf).operand);
  if (leaves.empty()) return Expr();
  user_check(leaves.size() == 1 && leaves[0]->op == Op::Var, Fault::unsupported, "`", show_short(leaves[0]),
             "` is read along two axes, or at row numbers: its derivative at a pair is not one of one point");
  return leaves[0];
}

// Returns the gradient, shaped like the variable.
Expr gradient(Expr f, Expr v, Expr cotangent) {
  const Expr normalised = normalised_for_derivatives(f), leaf = only_leaf(normalised, v);
  const Expr g = as_wide_as(normalised_for_derivatives(cotangent), width(f), "the cotangent");
  const Expr found = leaf ? pull_back(normalised, g, {leaf})[0] : Expr();
  return found ? found : zero(f->pool, width(v));
}

// Returns the derivative, shaped like f.
Expr derivative(Expr f, Expr v, Expr tangent) {
  const Expr normalised = normalised_for_derivatives(f), leaf = only_leaf(normalised, v);
  const Expr along = as_wide_as(normalised_for_derivatives(tangent), width(v), "the tangent");
  const Expr found = leaf ? push_forward(normalised, {leaf}, {along}) : Expr();
  return found ? found : zero(f->pool, width(f));
}

Expr along_component(Expr f, Expr v, int k) { return derivative(f, v, unit_vector(f->pool, k, width(v))); }

Expr matrix(Expr f, Expr v, Expr) {
  Expr all = along_component(f, v, 0);
  for (int k = 1; k < width(v); ++k) all = concat(all, along_component(f, v, k));
  return all;
}

Expr trace(Expr f, Expr v, Expr) {
  user_check(width(f) == width(v), Fault::shape, "the divergence of `", show_short(f),
             "` needs as many components as `", show_short(v), "` has: ", width(v), ", not ", width(f));
  Expr total = elem(along_component(f, v, 0), 1);
  for (int k = 1; k < width(v); ++k) total = total + elem(along_component(f, v, k), k + 1);
  return total;
}

Expr laplacian(Expr f, Expr v, Expr) {
  user_check(width(f) == 1, Fault::shape, "a Laplacian needs a formula of one component; `", show_short(f), "` has ",
             width(f));
  return trace(gradient(f, v, f->pool->number(1, Kind::real)), v, Expr());
}

// Makes a constant derivative vary along the axes of `f`, with the same values: its reductions go over the points of f,
// and its rows are the rows of f. The test reads leaves of f, for leaves know how many points there are; both of its
// sides are `value`.
Expr along_axes_of(Expr f, Expr value) {
  for (Expr leaf : reachable({f})) {
    if (leaf->op != Op::Var || value->type.axes.has(leaf->type.axes)) continue;
    const Expr one = width(leaf) == 1 ? leaf : elem(leaf, 1);
    value = lazy_if(equal(one, one), value, value);
  }
  return value;
}

template <Expr derive(Expr, Expr, Expr)>
Expr at_each_pair(Expr f, Expr v, Expr along) {
  return along_axes_of(f, derive(f, v, along));
}

}  // namespace

const std::vector<Derivation>& derivations() {
  static const std::vector<Derivation> table = {
      {"Grad", true, at_each_pair<gradient>},        {"AdjointOperator", true, at_each_pair<gradient>},
      {"Diff", true, at_each_pair<derivative>},      {"GradMatrix", false, at_each_pair<matrix>},
      {"Divergence", false, at_each_pair<trace>},    {"TraceOperator", false, at_each_pair<trace>},
      {"Laplacian", false, at_each_pair<laplacian>},
  };
  return table;
}

const Derivation* find_derivation(const std::string& name) {
  for (const Derivation& d : derivations())
    if (name == d.name) return &d;
  return nullptr;
}

}  // namespace kernweave
