// Aliases become their formulas; t(f) and f[rows, ] become f on other leaves.
#include "expr/rewrite.hpp"

#include <unordered_map>

#include "base/error.hpp"
#include "expr/parse.hpp"

namespace kernweave {
namespace {

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

// The formula of an alias may hold aliases again; its arguments are normalised already and not looked into. Parts that
// many share are normalised once: seen as a tree, a formula that is made step by step has no end.
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

std::vector<Expr> normalised(const std::vector<Expr>& formulas) { return rebuild(formulas, normalised_node<false>); }

Expr normalised_for_derivatives(Expr f) { return rebuild({f}, normalised_node<true>)[0]; }

}  // namespace kernweave
