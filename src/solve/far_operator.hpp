// An approximated matrix as an operator: far pairs by expansions, near ones by an operator of their own.
#pragma once
#include "far/approximation.hpp"
#include "solve/operator.hpp"

namespace kernweave::solve {

struct FarParts {
  far::Approximation* matrix;  // which outlives the operator
  // Of the near pairs, null where there are none; is it one of points in the order of boxes?
  OperatorPointer near{};
  bool near_in_order = true;
  // What is taken off for the pairs of a point with itself, which expansions do not leave out: for each row, a column
  // for each component of the formula; empty for nothing.
  Block diagonal{};
  device::Device* device = nullptr;  // that far pairs are summed on, if on one
  arrays::Workers workers{};
};

// Each column has a column of results for each component of the formula. Fault::value where a number is not finite.
OperatorPointer far_operator(FarParts parts);

}  // namespace kernweave::solve
