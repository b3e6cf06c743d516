// The approximation behind an external pointer of R.
#pragma once
#include "border.hpp"

#include "far/approximation.hpp"

namespace kernweave {

// The one behind an external pointer of this session.
far::Approximation& approximation_behind(SEXP pointer);

}  // namespace kernweave
