// The back end that is right before all else: float64, two plain loops, never optimised.
#pragma once
#include "schedule/backend.hpp"

namespace kernweave {

const Backend& reference_backend();

}  // namespace kernweave
