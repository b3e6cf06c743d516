// Derivatives of a formula at each pair: formulas again, with the names that texts have for them.
#pragma once
#include <string>
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

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
