// The back ends of this installation: the one list of them.
#pragma once
#include <string>
#include <vector>
#include "schedule/backend.hpp"

namespace kernweave {

const std::vector<const Backend*>& backends();

// One of them, or a choice of GPUs.
const Backend& backend_named(const std::string& name);

// Those among which a device is looked for: one of its own where it is a choice of GPUs.
std::vector<const Backend*> backends_for(const std::string& device);

}  // namespace kernweave
