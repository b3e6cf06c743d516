// The ALIAS rows: what each stands for.
#pragma once
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// The formula an alias stands for, one step: the result may hold aliases again.
Expr expand(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes);

}  // namespace kernweave
