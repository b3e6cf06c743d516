// Shape and kind of an operation's result, and the sentences for arguments that do not fit.
#pragma once
#include <string>
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// Fails with Fault::shape or Fault::kind, naming the operation, its arguments and their widths.
Type infer(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes);

// The components that an operation reads or fills must be there: Fault::shape, naming the operation as it was written
// and the number that places are counted from there.
void check_places(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes, const std::string& written,
                  int from = 1);

}  // namespace kernweave
