// Prepared plans as R holds them: behind external pointers.
#pragma once
#include "border.hpp"
#include <memory>
#include "execute/prepared.hpp"

namespace kernweave {

SEXP plan_to_r(std::shared_ptr<Prepared> plan);
// Returns the plan behind a pointer of this session. Other pointers, and empty pointers, are refused.
const std::shared_ptr<Prepared>& plan_behind(SEXP pointer);

}  // namespace kernweave
