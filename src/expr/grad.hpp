// Derivatives, as formulas: reverse and forward mode from the adjoint columns of the rows.
#pragma once
#include <string>
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// Formulas here are normalised. A target is a leaf: a variable, or the gather of one.

// Returns the leaves through which `formulas` read the operand.
std::vector<Expr> leaves_of_operand(const std::vector<Expr>& formulas, int operand);

// Reverse mode: sum over components of `cotangent` times the derivative of f, for each target.
// A null Expr if f does not depend on the target. Nodes made before number `since` are known not to depend on it.
std::vector<Expr> pull_back(Expr f, Expr cotangent, const std::vector<Expr>& targets, int since = 0);

// Forward mode: the derivative of f along the tangents of the targets. Null if there is none.
Expr push_forward(Expr f, const std::vector<Expr>& targets, const std::vector<Expr>& tangents);

// One reduction as the gradient sees it: value formula x, weight w (null: none), and the values that the row saves from
// the forward pass: result r, another value s that the gradient reads, and `here`, true at the winning pair.
struct ReducedFormula {
  Red red;
  Expr x;
  Expr w;
  Expr r;
  Expr s;
  Expr here;
};

// Returns the terms of a sum over pairs. The sum is the gradient (kept on each target's own axis) or the directional
// derivative (kept on the reduction's axis).
std::vector<Expr> pull_back(const ReducedFormula& reduced, Expr cotangent, const std::vector<Expr>& targets);
Expr push_forward(const ReducedFormula& reduced, const std::vector<Expr>& targets, const std::vector<Expr>& tangents);

// --- a formula at each pair ----------------------------------------------------------------------------------------
// Derivatives of a formula at each pair: formulas again, with the names that texts have for them.

// A derivative by its name in texts: of f in a variable that f reads in one way, or not at all (then it is 0). Some are
// taken along a third formula: a cotangent, shaped like f, or a tangent, shaped like the variable; one component serves
// for all.
struct Derivation {
  const char* name;
  bool along;
  Expr (*apply)(Expr f, Expr variable, Expr along);
};
const std::vector<Derivation>& derivations();
// Finds a derivation by name; null if there is none.
const Derivation* find_derivation(const std::string& name);

}  // namespace kernweave
