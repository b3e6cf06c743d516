// The back end for processors: tiles of pairs in first-level cache, lanes as wide as the machine's, threads.
#pragma once
#include "schedule/backend.hpp"

namespace kernweave {

const Backend& cpu_backend();

}  // namespace kernweave
