// Shape and kind of an operation's result, and the sentences for arguments that do not fit.
#pragma once
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// Fails with Fault::shape or Fault::kind, naming the operation, its arguments and their widths.
Type infer(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes);

}  // namespace kernweave
