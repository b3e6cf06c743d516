// The method of minimal residuals, for symmetric matrices that are not definite.
#pragma once
#include "solve/conjugate_gradients.hpp"

namespace kernweave::solve {

Solution minimal_residual(Operator* matrix, const Block& b, const Limits& limits, const Poll& poll);

}  // namespace kernweave::solve
