// Derivatives of a formula at each pair: formulas again, with the names that texts have for them.
#pragma once
#include <string>
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// `variable` is one that f reads in one way, or not at all; then the derivative is 0. Neither need be settled.

// Shaped like the variable; the cotangent like f, or of one component.
Expr gradient_at_pairs(Expr f, Expr variable, Expr cotangent);
// Shaped like f; the tangent like the variable, or of one component.
Expr derivative_at_pairs(Expr f, Expr variable, Expr tangent);

// A derivative by the name it has in texts: of a formula in a variable, some along a third formula.
struct Derivation {
  const char* name;
  bool along;
  Expr (*apply)(Expr f, Expr variable, Expr along);
};
const std::vector<Derivation>& derivations();

}  // namespace kernweave
