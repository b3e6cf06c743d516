// Both modes at one leaf, and what is made of them component by component.
#include "expr/grad.hpp"

#include "base/error.hpp"
#include "expr/build.hpp"
#include "expr/parse.hpp"
#include "expr/rewrite.hpp"

namespace kernweave {
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

// Shaped like the variable.
Expr gradient(Expr f, Expr v, Expr cotangent) {
  const Expr normalised = normalised_for_derivatives(f), leaf = only_leaf(normalised, v);
  const Expr g = as_wide_as(normalised_for_derivatives(cotangent), width(f), "the cotangent");
  const Expr found = leaf ? pull_back(normalised, g, {leaf})[0] : Expr();
  return found ? found : zero(f->pool, width(v));
}

// Shaped like f.
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
