// An approximated matrix as an operator: far pairs by expansions, near ones by an operator of their own.
#pragma once
#include "far/approximation.hpp"
#include "solve/operator.hpp"

namespace kernweave::solve {

struct FarParts {
  far::Approximation* matrix;  // which outlives the operator
  // The operator of the near pairs, null if there are none. `near_in_order`: its points are in the order of boxes.
  OperatorPointer near{};
  bool near_in_order = true;
  // The numbers that are subtracted for the pairs of a point with itself, which expansions include: for each row, a
  // column for each component of the formula; empty for nothing.
  Block diagonal{};
  device::Device* device = nullptr;  // that far pairs are summed on, if on one
  arrays::Workers workers{};
};

// Each column has a column of results for each component of the formula. Fault::value where a number is not finite.
OperatorPointer far_operator(FarParts parts);

}  // namespace kernweave::solve
