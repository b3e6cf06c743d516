// Block conjugate gradients: right-hand sides share one Krylov space.
#pragma once
#include "solve/conjugate_gradients.hpp"

namespace kernweave::solve {

// Solves like conjugate_gradients(), in fewer products if columns are many; coefficients are not kept.
Solution block_conjugate_gradients(Operator* matrix, Preconditioner* preconditioner, const Block& b,
                                   const Block& start, const Limits& limits, const Poll& poll);

}  // namespace kernweave::solve
