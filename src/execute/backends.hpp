// The back ends of this installation: the one list of them.
#pragma once
#include <string>
#include <vector>
#include "schedule/backend.hpp"

namespace kernweave {

const std::vector<const Backend*>& backends();

// One of them, or a choice of GPUs.
const Backend& backend_named(const std::string& name);

// Lists the back ends that a device is chosen from. A choice of GPUs has a back end of its own.
std::vector<const Backend*> backends_for(const std::string& device);

}  // namespace kernweave
