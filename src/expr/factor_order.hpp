// Products, ordered by how often their factors run.
#pragma once
#include <functional>
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// Makes a node, simplified.
using MakeNode = std::function<Expr(Op, const std::vector<Expr>&)>;

// Regroups the factors of a product: numbers, parameters and factors that vary along one axis are multiplied among
// themselves first, numbers of one component before vectors. Signs come out as one sign. A product that is `shared` is
// left as a factor. The value is the same up to rounding.
Expr ordered_product(Expr product, const std::function<bool(Expr)>& shared, const MakeNode& make);

}  // namespace kernweave
