// Aliases become their formulas; t(f) and f[rows, ] become f on other leaves.
#include "expr/normalise.hpp"

#include <unordered_map>

#include "base/error.hpp"
#include "expr/alias.hpp"
#include "expr/show.hpp"

namespace kernweave {
namespace {

// The same formula on other leaves. A gather stays with its variable; its row numbers are remade.
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

// The formula of an alias may hold aliases again; its arguments are settled already and not looked into. Parts that
// many share are settled once: seen as a tree, a formula that is made step by step has no end.
Expr settle_alias(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes);

using Settled = std::unordered_map<const Node*, Expr>;

Expr settle_part(Expr part, Settled* settled) {
  if (part->args.empty()) return part;
  const auto known = settled->find(part.get());
  if (known != settled->end()) return known->second;
  std::vector<Expr> args;
  for (std::size_t k = 0; k < part->args.size(); ++k) args.push_back(settle_part(part.arg(k), settled));
  const Expr made =
      row(part->op).form == Form::alias ? settle_alias(part->op, args, part->attributes) : remade(part, args);
  settled->emplace(part.get(), made);
  return made;
}

Expr settle_alias(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes) {
  Settled settled;
  for (Expr arg : args) settled.emplace(arg.get(), arg);
  return settle_part(expand(op, args, attributes), &settled);
}

template <bool for_derivatives>
Expr settle_node(Expr node, const std::vector<Expr>& args) {
  const OpRow& r = row(node->op);
  const bool stays = for_derivatives && r.has_own_adjoint;
  if (r.form == Form::alias && !stays) return settle_alias(node->op, args, node->attributes);
  if (node->op == Op::Swap) return swap_axes(args[0]);
  if (node->op == Op::Take) return take_rows(args[0], node->attributes[0] == 0, args[1]);
  return remade(node, args);
}

}  // namespace

std::vector<Expr> settle(const std::vector<Expr>& formulas) { return rebuild(formulas, settle_node<false>); }

Expr settle_for_derivatives(Expr f) { return rebuild({f}, settle_node<true>)[0]; }

}  // namespace kernweave
