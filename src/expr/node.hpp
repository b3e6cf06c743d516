// Formulas: immutable nodes in a pool, where equal structure is the same pointer.
#pragma once
#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "expr/table.hpp"

namespace kernweave {

// The axis along which a variable's data vary. `pair_swapped` reads a matrix of pairs by columns.
enum class Axis { i, j, param, pair, pair_swapped };

Axes axes_of(Axis axis);
Axis swapped(Axis axis);

enum class Source { data, counter };  // counter: the row number itself

struct Variable {
  std::string name;
  Axis axis;
  Source source;
  int width;
  Kind kind;
  Axes of_value;         // of a stand-in for a value: the axes along which the value varies
  int operand;           // place in the caller's list of operands; -1 for a counter
  int centre = kAsItIs;  // the operand relative to whose centre the data are read

  static constexpr int kAsItIs = -1;
  static constexpr int kResults = 1 << 20;  // operands from here on are results of sums, by number
};

class Pool;

struct Node {
  Op op;
  std::vector<const Node*> args;
  std::vector<int> attributes;
  double number;  // of a Number
  int variable;   // of a Var: place in the pool's list
  Type type;
  int id;  // order of making: arguments come before their users
  Pool* pool;
};

class Expr {
 public:
  Expr() = default;
  explicit Expr(const Node* node) : node_(node) {}
  const Node* operator->() const { return node_; }
  const Node* get() const { return node_; }
  explicit operator bool() const { return node_ != nullptr; }
  Expr arg(std::size_t k) const { return Expr(node_->args[k]); }
  friend bool operator==(Expr a, Expr b) { return a.node_ == b.node_; }

 private:
  const Node* node_ = nullptr;
};

// Owns the nodes of one piece of work. `typed = false` is for patterns, whose letters have no type.
class Pool {
 public:
  explicit Pool(bool typed = true) : typed_(typed) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  Expr make(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes = {});
  // Returns a literal, which is an integer if the value is whole.
  Expr number(double value);
  Expr number(double value, Kind kind);
  // Returns the leaf of a variable: a single leaf for the same operand, axis and centre.
  Expr variable(const Variable& variable);
  const Variable& variable(Expr leaf) const { return variables_[leaf->variable]; }

 private:
  Expr intern(Node node);

  bool typed_;
  std::deque<Node> nodes_;
  std::unordered_multimap<std::size_t, const Node*> index_;
  std::vector<Variable> variables_;
  std::map<std::tuple<Source, Axis, int, int>, int> places_;
};

inline int width(Expr f) { return f->type.width; }
inline const Variable& variable(Expr leaf) { return leaf->pool->variable(leaf); }

// Returns every node that the roots depend on, arguments first, without nodes made before node number `since`.
std::vector<Expr> reachable(const std::vector<Expr>& roots, int since = 0);

// Remakes formulas bottom up: `remake` gets a node and its remade arguments. One entry per node, so a
// shared part is remade once. No recursion: a formula may be as deep as memory allows.
template <class Remake>
std::vector<Expr> rebuild(const std::vector<Expr>& roots, Remake remake) {
  std::unordered_map<const Node*, Expr> made;
  for (Expr f : reachable(roots)) {
    std::vector<Expr> args;
    args.reserve(f->args.size());
    for (const Node* arg : f->args) args.push_back(made.at(arg));
    made[f.get()] = remake(f, args);
  }
  std::vector<Expr> out;
  for (Expr root : roots) out.push_back(made.at(root.get()));
  return out;
}

// Returns a node with new arguments.
Expr remade(Expr f, const std::vector<Expr>& args);

}  // namespace kernweave
