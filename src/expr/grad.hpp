// Derivatives, as formulas: reverse and forward mode from the adjoint columns of the rows.
#pragma once
#include <string>
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// Formulas here are normalised. A target is a leaf: a variable, or the gather of one.

// The leaves through which `formulas` read the operand.
std::vector<Expr> leaves_of_operand(const std::vector<Expr>& formulas, int operand);

// Reverse mode: sum over components of `cotangent` times the derivative of f, for each target.
// A null Expr where f does not depend on the target. Nodes made before number `since` are known not to.
std::vector<Expr> pull_back(Expr f, Expr cotangent, const std::vector<Expr>& targets, int since = 0);

// Forward mode: the derivative of f along the tangents of the targets. Null if there is none.
Expr push_forward(Expr f, const std::vector<Expr>& targets, const std::vector<Expr>& tangents);

// One reduction as the gradient sees it: value formula x, weight w (null: none), and of the forward
// pass what the row saves: its result r, what else its gradient speaks of as s, and `here`, true at the winning pair.
struct ReducedFormula {
  Red red;
  Expr x;
  Expr w;
  Expr r;
  Expr s;
  Expr here;
};

// Terms of a sum over pairs: its total is the gradient (kept on each target's own axis) or the
// directional derivative (kept on the reduction's axis).
std::vector<Expr> pull_back(const ReducedFormula& reduced, Expr cotangent, const std::vector<Expr>& targets);
Expr push_forward(const ReducedFormula& reduced, const std::vector<Expr>& targets, const std::vector<Expr>& tangents);

// --- a formula at each pair ----------------------------------------------------------------------------------------
// Derivatives of a formula at each pair: formulas again, with the names that texts have for them.

// A derivative by the name it has in texts: of f in a variable that it reads in one way, or not at all (then it is 0),
// and some along a third formula: a cotangent, shaped like f, or a tangent, shaped like the variable; one component
// serves for all.
struct Derivation {
  const char* name;
  bool along;
  Expr (*apply)(Expr f, Expr variable, Expr along);
};
const std::vector<Derivation>& derivations();
// Null where there is none of that name.
const Derivation* find_derivation(const std::string& name);

}  // namespace kernweave
