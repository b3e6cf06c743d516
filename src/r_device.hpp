// The back ends of this installation.
#pragma once
#include <vector>
#include "schedule/backend.hpp"

namespace kernweave {

const std::vector<const Backend*>& backends();

}  // namespace kernweave
