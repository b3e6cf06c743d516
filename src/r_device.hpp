// The back ends of this installation.
#pragma once
#include <vector>
#include "schedule/backend.hpp"

namespace kernweave {

const std::vector<const Backend*>& backends();

// Those among which a device is looked for: one of its own where it is a choice of GPUs.
std::vector<const Backend*> backends_for(const std::string& device);

}  // namespace kernweave
