// Why a formula cannot be taken apart: thrown within, caught by whoever was asked to.
#pragma once
#include <string>

#include "expr/node.hpp"

namespace kernweave {
namespace distance {

struct Refused {
  std::string why;
};
// Of an operation on points.
Refused no_function(Op op);

}  // namespace distance
}  // namespace kernweave
