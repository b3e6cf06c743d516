// Products, ordered by how often their factors run.
#pragma once
#include <functional>
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// Makes a node, simplified.
using MakeNode = std::function<Expr(Op, const std::vector<Expr>&)>;

// The same product with its factors regrouped: numbers, parameters and what varies along one axis are multiplied
// among themselves first, numbers of one component before vectors. Signs come out as one. A product that is
// `shared` is a factor as it is. Up to rounding.
Expr ordered_product(Expr product, const std::function<bool(Expr)>& shared, const MakeNode& make);

}  // namespace kernweave
