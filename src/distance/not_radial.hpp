// Why a formula is none of one distance: thrown where that is found, and caught by recognise_radial().
#pragma once
#include <string>

#include "expr/node.hpp"

namespace kernweave {
namespace distance {

struct NotRadial {
  std::string why;
};
// The refusal of an operation on points that makes no function of their distance.
NotRadial no_function(Op op);

}  // namespace distance
}  // namespace kernweave
