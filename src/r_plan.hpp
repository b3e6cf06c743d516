// Prepared plans as R holds them: behind external pointers.
#pragma once
#include "border.hpp"
#include <memory>
#include "execute/prepared.hpp"

namespace kernweave {

SEXP plan_to_r(std::shared_ptr<Prepared> plan);
// Of a pointer of this session; others, and empty ones, are refused.
const std::shared_ptr<Prepared>& plan_behind(SEXP pointer);

}  // namespace kernweave
