// Interning: a node is made once; asking again gives the same pointer.
#include "expr/node.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <unordered_set>

#include "expr/type.hpp"

namespace kernweave {
namespace {

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2));
}

std::size_t hash_of(const Node& node) {
  std::size_t h = static_cast<std::size_t>(node.op);
  for (const Node* arg : node.args) h = mix(h, std::hash<const Node*>()(arg));
  for (int a : node.attributes) h = mix(h, static_cast<std::size_t>(a));
  h = mix(h, std::hash<double>()(node.number));
  return mix(h, static_cast<std::size_t>(node.variable));
}

// Tells whether numbers are equal by their bits: 0 is not -0, NaN is NaN.
bool same_number(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

bool same_structure(const Node& a, const Node& b) {
  const bool alike = a.op == b.op && a.args == b.args && a.attributes == b.attributes && a.variable == b.variable;
  return alike && (a.op != Op::Number || (same_number(a.number, b.number) && a.type.kind == b.type.kind));
}

Kind kind_of_number(double value) {
  // If |value| > 2^53, a double does not distinguish neighbouring whole numbers.
  const double exact = 9007199254740992.0;
  const bool whole = value > -exact && value < exact && value == static_cast<double>(static_cast<long long>(value));
  return whole ? Kind::integer : Kind::real;
}

}  // namespace

Axes axes_of(Axis axis) {
  switch (axis) {
    case Axis::i: return Axes::i();
    case Axis::j: return Axes::j();
    case Axis::param: return Axes::none();
    case Axis::pair:
    case Axis::pair_swapped: return Axes::ij();
  }
  return Axes::none();
}

Axis swapped(Axis axis) {
  switch (axis) {
    case Axis::i: return Axis::j;
    case Axis::j: return Axis::i;
    case Axis::param: return Axis::param;
    case Axis::pair: return Axis::pair_swapped;
    case Axis::pair_swapped: return Axis::pair;
  }
  return axis;
}

Expr Pool::intern(Node node) {
  const std::size_t h = hash_of(node);
  const auto range = index_.equal_range(h);
  for (auto it = range.first; it != range.second; ++it)
    if (same_structure(*it->second, node)) return Expr(it->second);
  node.id = static_cast<int>(nodes_.size());
  node.pool = this;
  nodes_.push_back(std::move(node));
  index_.emplace(h, &nodes_.back());
  return Expr(&nodes_.back());
}

Expr Pool::make(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes) {
  Node node{op, {}, attributes, 0.0, -1, {}, 0, this};
  for (Expr arg : args) node.args.push_back(arg.get());
  if (typed_) node.type = infer(op, args, attributes);
  return intern(std::move(node));
}

Expr Pool::number(double value) { return number(value, kind_of_number(value)); }

Expr Pool::number(double value, Kind kind) {
  return intern({Op::Number, {}, {}, value, -1, {1, kind, Axes::none()}, 0, this});
}

Expr Pool::variable(const Variable& v) {
  const auto known =
      places_.emplace(std::make_tuple(v.source, v.axis, v.operand, v.centre), static_cast<int>(variables_.size()));
  if (known.second) variables_.push_back(v);
  const int place = known.first->second;
  return intern({Op::Var, {}, {}, 0.0, place, {v.width, v.kind, axes_of(v.axis).with(v.of_value)}, 0, this});
}

std::vector<Expr> reachable(const std::vector<Expr>& roots, int since) {
  std::vector<Expr> found, todo = roots;
  std::unordered_set<const Node*> seen;
  while (!todo.empty()) {
    const Expr f = todo.back();
    todo.pop_back();
    if (f->id < since || !seen.insert(f.get()).second) continue;
    found.push_back(f);
    for (const Node* arg : f->args) todo.push_back(Expr(arg));
  }
  std::sort(found.begin(), found.end(), [](Expr a, Expr b) { return a->id < b->id; });
  return found;
}

Expr remade(Expr f, const std::vector<Expr>& args) {
  if (args.empty()) return f;
  return f->pool->make(f->op, args, f->attributes);
}

}  // namespace kernweave
